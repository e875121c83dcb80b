"""The extension: handlers of signals that use an agent during its waits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import beeline.sync
from beeline.pytest_plugin import AgentFactory, Hive
from core_ground import SECOND, pair


@pytest.fixture
def handler() -> Iterator[list[Any]]:
    """A SIGALRM calls the last of the list."""
    calls: list[Any] = []
    old = signal.signal(signal.SIGALRM, lambda *_: calls[-1]())
    yield calls
    signal.signal(signal.SIGALRM, old)


def test_a_request_of_a_handler_leaves_the_answer_of_the_request_that_it_interrupts(
    agent: AgentFactory, handler: list[Any]
) -> None:
    asker = agent("asker")
    ready = threading.Event()

    def answer() -> None:
        with beeline.sync.attach("clerk") as clerk:
            ready.set()
            outer = clerk.receive(timeout=60)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
            inner = clerk.receive(timeout=60)
            for message in (outer, inner):
                message.reply(f"to {message.text}", timeout=60)
                message.done()

    thread = threading.Thread(target=answer)
    thread.start()
    assert ready.wait(60)
    answers: list[str] = []

    def ask(text: str) -> None:
        with asker.request("clerk", text, timeout=60) as got:
            answers.append(got.text)

    handler.append(lambda: ask("inner"))
    ask("outer")
    thread.join(60)
    assert answers == ["to inner", "to outer"]


def test_no_view_begins_while_a_wait_may_end_a_loan(hive: Hive, handler: list[Any]) -> None:
    a, b, peer = pair(normal_slots=1)
    loan = a.borrow(peer, 100)
    a.send_nowait(peer, b"fills the lane")
    said: list[str] = []

    def view() -> None:
        with pytest.raises(BufferError) as caught:
            memoryview(loan)
        said.append(str(caught.value))
        b.try_receive().done()

    handler.append(view)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    loan._wait_send(60 * SECOND)
    assert "waits for room" in said[0]
    b.try_receive().done()
    a._close()
    b._close()


def test_a_deadline_that_is_over_is_no_fault(agent: AgentFactory) -> None:
    a = agent("a")
    for over in (0, -1.0):
        with pytest.raises(TimeoutError):
            a.receive(timeout=over)
    assert a.send("a", "x", timeout=-1.0) and a.receive(-0.5).held
