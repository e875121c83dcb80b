"""The extension keeps no memory and no reference, also where a call fails."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable
from typing import Any

from beeline.pytest_plugin import Hive
from core_ground import SECOND, TYPES, pair

TRACE = f"00-{'ab' * 16}-{'cd' * 8}-01"
MOST_KIB = 512


def resident_kib() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4


def step(a: Any, b: Any, peer: Any, number: int) -> None:
    a.send_nowait(peer, f"x{number}", type=f"t{number % 300}", trace=TRACE, ttl=5)
    m = b.try_receive(type=f"t{number % 300}")
    assert m.id and m.trace == TRACE and m.ttl == 5.0 and m.sender_name == "a" and m.copy()
    m.payload.release()
    m.done()
    wrong: list[Callable[[], object]] = [
        m.done, lambda: memoryview(m), lambda: a.send_nowait(peer, 7), lambda: a.borrow(1.5, 1),
        lambda: a.send_nowait(peer, b"", typo=1), lambda: a.send_nowait(peer, b"", trace="x"),
    ]  # fmt: skip
    for call in wrong:
        with contextlib.suppress(Exception):
            call()
    a.send_many(peer, [b"1", "2"])
    b.done_all(b.try_receive_batch(5))
    loan = a.borrow(peer, 100)
    memoryview(loan)[:1] = b"a"
    loan.send_nowait()
    b.try_receive().done("read")
    a.request_start(peer, b"?", 60 * SECOND)
    m = b.try_receive()
    m.reply_nowait(b"!")
    m.done()
    assert a.poll().answers == 1 and a.next_answer()[1].text == "!"
    assert b.inbox_nowait() == [] and b._counters() and b._arrivals() and a._links()


def test_calls_keep_nothing(hive: Hive) -> None:
    a, b, peer = pair()

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(thing) for thing in (*TYPES, type(peer), type(a.poll()), a, b)]

    for number in range(1000):
        step(a, b, peer, number)
    before, kib = counts(), resident_kib()
    for number in range(3000):
        step(a, b, peer, number)
    assert counts() == before
    assert resident_kib() - kib < MOST_KIB
    a._close()
    b._close()
