"""One run of Agent.serve() in asyncio."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from beeline import _core
from beeline._base import BaseMessage, notice, set_current
from beeline._errors import ClosedError
from beeline._serving import Handler, begin, conclude, does_tasks, give_up, is_shutdown, log
from beeline._types import Notice

if TYPE_CHECKING:
    from beeline.aio._agent import Agent

_LONGEST_TURN = 0.001
_take = _core.Agent.try_receive


async def _resolve(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


class Service:
    """Takes as many messages and tasks as handlers are free, and gives each to its handler."""

    def __init__(self, agent: Agent, handler: Handler, concurrency: int, copies: bool) -> None:
        if concurrency < 1:
            raise ValueError("concurrency is the number of handlers at one time, at least 1")
        self._agent = agent
        self._handler = handler
        self._most = concurrency
        self._copies = copies
        self._does_tasks = does_tasks(handler)
        self._running: set[asyncio.Task[None]] = set()
        self._bell: asyncio.Future[None] | None = None
        self._reason = ""
        self._active = 0
        self._handled = 0
        self._looked_at = -1

    def stop(self, reason: str) -> None:
        """Ends the run after the handlers that have begun."""
        self._reason = self._reason or reason
        self._ring()

    async def run(self, timeout: float | None) -> int:
        """Returns the number of messages and tasks that were handled."""
        driver = self._agent._driver
        loop = driver.enter()
        timer = None if timeout is None else loop.call_later(timeout, self.stop, "timeout")
        self._accept_tasks(self._does_tasks)
        driver.listeners.add(self._hear)
        try:
            await _resolve(self._handler.on_start(self._agent))
            await self._serve()
        except BaseException as error:
            is_cancelled = isinstance(error, asyncio.CancelledError)
            self._reason = "cancelled" if is_cancelled else "failed"
            for task in self._running:
                task.cancel()
            raise
        finally:
            driver.listeners.discard(self._hear)
            if timer is not None:
                timer.cancel()
            if not self._agent.closed:
                self._accept_tasks(False)
            await asyncio.gather(*self._running, return_exceptions=True)
            set_current(None)
            await _resolve(self._handler.on_stop(self._reason))
        return self._handled

    def _accept_tasks(self, wanted: bool) -> None:
        # An iterator of tasks() that lives takes them, too.
        self._agent.accept_tasks(wanted or len(self._agent._task_streams) > 0)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        slept = loop.time()
        try:
            while not self._reason:
                self._bell = loop.create_future()
                self._agent._driver.touch()
                if not await self._start_one():
                    await self._bell
                elif loop.time() - slept < _LONGEST_TURN:
                    continue
                else:
                    await asyncio.sleep(0)  # Handlers that never wait must not keep the loop.
                slept = loop.time()
        except ClosedError:
            self.stop("closed")

    def _ring(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)

    def _hear(self, found: _core.Readiness) -> None:
        if found.ended:
            self.stop("closed")
        has_work = found.messages or self._does_tasks and found.tasks
        if found.notices or self._active < self._most and has_work:
            self._ring()
        elif found.messages and self._active >= self._most:
            self._take_orders()

    def _take_orders(self) -> None:
        # All handlers are busy, and orders of agents above do not wait for them.
        taken = self._agent._arrivals()[0]
        if taken == self._looked_at or not self._agent.urgent():
            return
        while (message := _take(self._agent)) is not None:
            if not message.is_control:
                message.put_back()
                break
            self._spawn(self._handle(message))
        self._looked_at = self._agent._arrivals()[0]

    async def _start_one(self) -> bool:
        # Handles the next thing, or starts its handler. False: there is nothing now.
        if (told := self._agent.next_notice()) is not None:
            await self._tell(notice(told))
            return True
        if self._active >= self._most:
            return False
        message = _take(self._agent)
        if message is not None:
            if message.is_copy and not self._copies:
                message.done()
            else:
                await self._start(self._handle(message))
        run = None
        if self._does_tasks and self._active < self._most and not self._reason:
            run = self._agent.next_task()
        if run is not None:
            await self._start(self._do(run))
        return message is not None or run is not None

    async def _tell(self, told: Notice) -> None:
        set_current(None)
        try:
            await _resolve(self._handler.on_notice(told))
        except Exception:
            log.exception("a handler failed for %r", told)

    async def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._active += 1
        if self._most > 1:
            self._spawn(work).add_done_callback(self._free)
            return
        try:
            await work
        finally:
            self._active -= 1

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def _free(self, _: object) -> None:
        self._active -= 1
        self._ring()

    async def _handle(self, message: BaseMessage) -> None:
        self._handled += 1
        set_current(message)
        try:
            conclude(message, await _resolve(begin(self._handler, message)))
        except BaseException as error:
            give_up(message, error)
            if not isinstance(error, Exception):
                raise
        if is_shutdown(message):
            self.stop("shutdown")

    async def _do(self, run: Any) -> None:
        self._handled += 1
        set_current(run)
        try:
            result = await _resolve(self._handler.on_task(run))
            if run.held:
                run.conclude(result)
        except BaseException as error:
            give_up(run, error)
            if not isinstance(error, Exception):
                raise
