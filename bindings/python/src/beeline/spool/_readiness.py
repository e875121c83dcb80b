from __future__ import annotations

import asyncio
import contextlib
import os

from beeline import _core
from beeline._errors import WrongLoop


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Readiness:
    """Coroutines of one event loop that wait until a task may have come.

    The loop has the descriptor while one of them waits. All are woken at once: those that find no
    task wait again. Each is woken after `poll_every`, too, because the descriptor does not tell of
    other hosts, and of some ends of processes.
    """

    def __init__(self, handle: _core.Spool, poll_every: float) -> None:
        self._handle = handle
        self._poll_every = poll_every
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Future[None]] = set()
        self._fd = -1

    async def wait(self, until: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._enter(loop)
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.add(waiter)
        then = loop.time() + self._poll_every
        timer = loop.call_at(then if until is None else min(then, until), _wake, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiting.discard(waiter)
            if not self._waiting:
                self._leave()

    def wake(self) -> None:
        """The spool was closed, perhaps in another thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for waiter in tuple(self._waiting):
            _wake(waiter)

    def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            return
        if self._loop is not None and not self._loop.is_closed():
            raise WrongLoop(
                "coroutines of another event loop wait for this spool: open one for each loop"
            )
        self._leave()
        fd = self._handle.fileno()
        if fd >= 0:
            # The loop gets a descriptor of its own, so that it never holds one that was closed.
            self._fd = os.dup(fd)
            loop.add_reader(self._fd, self._wake_all)
        self._loop = loop

    def _leave(self) -> None:
        loop, self._loop = self._loop, None
        if self._fd >= 0:
            if loop is not None and not loop.is_closed():
                loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
