"""Calls everything of the extension in any order with any arguments. It must not crash.

Usage: core_fuzz.py SEED CALLS
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import warnings
from typing import Any

from beeline import _core
from beeline._types import MessageId
from core_ground import FOREVER, TYPES, attach

try:
    import numpy

    ARRAYS: list[Any] = [numpy.arange(10), numpy.arange(10)[::3], numpy.ones((3, 3)).T]
except ImportError:
    ARRAYS = []

NAMES = """to payload payloads messages timeout_ns size most id call peer wanted force limit group
    order issue pid name recursive sleeping drain_ns reply reason text type channel rank reply_to
    cause ttl trace hops requires_ack inherit about cancel_on_timeout sender oldest_first
    description context parent_task params priority exit_code output artifacts metadata""".split()
TRACE = f"00-{'0a' * 16}-{'0b' * 8}-01"
# They would wait for ever, or replace a class of the test itself.
LEFT_OUT = {"__class__", "__init_subclass__", "__subclasshook__", "__class_getitem__"}


class Alarm(BaseException):
    """Ends a wait."""


class Odd:
    """Does something else whenever it is looked at."""

    def __init__(self, fuzz: Fuzz) -> None:
        self.fuzz = fuzz

    def __index__(self) -> int:
        self.fuzz.disturb()
        return self.fuzz.random.choice([0, 1, 5, -1, 2**70])

    def __bool__(self) -> bool:
        self.fuzz.disturb()
        return True

    def __float__(self) -> float:
        self.fuzz.disturb()
        return 0.001

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> object:
        self.fuzz.disturb()
        if index > 2:
            raise IndexError
        return self.fuzz.value()


class Fuzz:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.things: list[Any] = []
        self.depth = 0
        self.number = 0

    def agent(self) -> Any:
        self.number += 1
        options: dict[str, Any] = {"wait": self.random.choice(["adaptive", "sleep", "spin"])}
        name = self.random.choice(["a", "b", f"n{self.number}"])
        parent = self.random.choice(["", "a", "b"])
        try:
            return attach(
                name, parent=parent, temporary=self.random.random() < 0.5,
                control_timeout=1, inbox_capacity=64, **options,
            )  # fmt: skip
        except Exception:
            return attach(f"m{self.number}", temporary=True, control_timeout=1, **options)

    def value(self) -> Any:
        choose = self.random.choice
        plain: list[Any] = [
            0, 1, 2, 3, 7, -1, 31, 1000, 2**31, 2**40, 2**63 - 1, 2**64 - 1, 2**64, 10**30, True,
            None, 0.0, 0.001, 1.5, -1.0, float("nan"), float("inf"), "", "a", "b", "task", "\0",
            "x" * 31, "x" * 32, "\ud800", TRACE, TRACE[:-1], b"", b"bytes", b"x" * 5000,
            b"y" * 100_000, bytearray(b"array"), memoryview(b"view"), memoryview(b"view")[::2],
            *ARRAYS, object(), int, {}, [], (), {"k": "v"}, {"k": 1}, {1: "v"}, [b"1", "2"],
            [b"1", 2], MessageId(77), Odd(self),
        ]  # fmt: skip
        if self.things and self.random.random() < 0.45:
            thing = choose(self.things)
            return choose([thing, [thing], [thing, thing], getattr(thing, "pid", thing)])
        return choose(plain)

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        places = [self.value() for _ in range(self.random.choice([0, 0, 1, 1, 2, 2, 3, 4]))]
        names = self.random.sample(NAMES, self.random.choice([0, 0, 0, 1, 2, 3]))
        return places, {name: self.value() for name in names}

    def disturb(self) -> None:
        """A call in the middle of another one."""
        if self.depth < 2:
            self.depth += 1
            try:
                self.call()
            except Exception:
                pass
            finally:
                self.depth -= 1

    def keep(self, result: Any) -> None:
        for item in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(item, (*TYPES, _core.Peer, memoryview)):
                self.things.append(item)
        if len(self.things) > 60:
            self.random.shuffle(self.things)
            del self.things[40:]

    def call(self) -> None:
        thing = self.random.choice(self.things)
        names = [name for name in dir(thing) if name not in LEFT_OUT]
        # Our own methods more often than those of each object.
        own = [name for name in names if not name.startswith("__")]
        name = self.random.choice(own if own and self.random.random() < 0.9 else names)
        if name == "_close" and self.random.random() < 0.9:
            return
        member = getattr(thing, name)
        if not callable(member):
            return self.keep(member)
        places, named = self.arguments()
        if name == "send_threadsafe":
            named["timeout"] = self.random.choice([0, 0.001, -1, "x"])
        self.keep(member(*places, **named))

    def likely(self) -> None:
        """A call that makes sense."""
        agents = [thing for thing in self.things if isinstance(thing, _core.Agent)]
        open_ones: list[Any] = [agent for agent in agents if not agent.closed]
        if len(open_ones) < 2:
            self.things.append(self.agent())
            return
        a, b = self.random.sample(open_ones, 2)
        peer = a.find_peer(b.pid)
        self.things.append(peer)
        what = self.random.randrange(6)
        if what == 0:
            a.send_nowait(peer, b"x" * self.random.choice([0, 10, 5000]), type="task")
        elif what == 1:
            self.keep(b.try_receive_batch(3))
        elif what == 2:
            self.keep(a.borrow(peer, 100))
        elif what == 3:
            a.request_start(peer, b"?", 10**6)
        elif what == 4:
            b.accept_tasks(True)
            a.execute_start(peer, 10**7, params={"k": "v"})
        else:
            self.keep([a.next_answer(), b.next_task(), a.next_task_event(), a.next_result()])

    def child(self) -> None:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            for _ in range(20):
                self.guarded(self.call)
            self.things.clear()
            gc.collect()
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
        assert status == 0, f"the child ended with {status}"

    def guarded(self, step: Any) -> None:
        try:
            step()
        except (Exception, Alarm):
            pass

    def step(self) -> None:
        dice = self.random.random()
        if dice < 0.001:
            self.child()
        elif dice < 0.02:
            thread = threading.Thread(target=self.guarded, args=(self.call,))
            thread.start()
            thread.join()
        elif dice < 0.03:
            gc.collect()
        elif dice < 0.25 or not self.things:
            self.guarded(self.likely)
        elif dice < 0.30:
            self.things.pop(self.random.randrange(len(self.things)))
        else:
            self.guarded(self.call)


def main(seed: int, calls: int) -> None:
    warnings.simplefilter("ignore")

    def ring(*_: object) -> None:
        raise Alarm

    signal.signal(signal.SIGALRM, ring)
    fuzz = Fuzz(seed)
    for _ in range(calls):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            fuzz.step()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Alarm:
            pass
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    for thing in fuzz.things:
        if isinstance(thing, _core.Agent):
            thing._close(force=True)
    print("alive", FOREVER > 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
