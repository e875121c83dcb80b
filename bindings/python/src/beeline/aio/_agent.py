"""class Agent of beeline.aio."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from beeline import _core
from beeline._base import To, notice, progress_of, set_current, task_result, work_of
from beeline._serving import Handler, handler_of, log
from beeline._types import (
    FOREVER,
    AttachOptions,
    Filter,
    Notice,
    Outcome,
    Progress,
    Task,
    TaskOutcome,
    TaskResult,
    nanoseconds,
)
from beeline.aio._driver import Line
from beeline.aio._objects import Message, TaskRun
from beeline.aio._processes import ProcessAgent
from beeline.aio._service import Service
from beeline.aio._streams import MessageStream, Stream

if TYPE_CHECKING:
    from typing import Unpack

    from typing_extensions import Self

_take = _core.Agent.try_receive


class Agent(ProcessAgent):
    """An agent of a hive: an inbox, links to peers, a place in the tree. See attach().

    Close it with aclose(), or use it in `async with`; an agent that is dropped warns.
    The options of all sends are those of SendOptions, of all filters those of Filter.
    """

    _service: Service | None
    _task_streams: weakref.WeakSet[Stream[TaskRun]]

    def _begin(self, options: AttachOptions) -> None:
        super()._begin(options)
        self._service = None
        self._task_streams = weakref.WeakSet()

    def _line(self, filter: Filter) -> Line:
        return self._driver.seekers if filter else self._driver.messages

    async def receive(
        self, timeout: float | None = None, **filter: Unpack[Filter]
    ) -> Message:
        """The next message in delivery order. TimeoutError: none has come in that time.

        A cancelled receive() has taken nothing. It needs no asyncio.wait_for(): give `timeout`.
        ClosedError: none will come.
        """
        self._driver.enter()
        message = _take(self, **filter)
        if message is None:
            message = await self._driver.until(
                self._line(filter), lambda: _take(self, **filter), timeout, "message"
            )
        self._touch()
        set_current(message)
        return message

    async def _receive_batch(self, most: int, filter: Filter) -> list[Message]:
        take = super().try_receive_batch
        return await self._next(
            self._line(filter), lambda: take(most, **filter) or None, None, "message"
        )

    def try_receive(  # type: ignore[override]
        self, **filter: Unpack[Filter]
    ) -> Message | None:
        """The next message, or None: there is nothing now."""
        message = _take(self, **filter)
        if message is not None:
            set_current(message)
        self._touch()
        return message

    def try_receive_batch(  # type: ignore[override]
        self, most: int, **filter: Unpack[Filter]
    ) -> list[Message]:
        """The next messages, at most `most`, all leases of their own; may be empty."""
        messages = super().try_receive_batch(most, **filter)
        self._touch()
        return messages

    def done_all(self, messages: Iterable[Message]) -> None:
        """Ends several messages as done() does, faster: facts that nobody has read are lost.

        BufferError: one has views, and none was ended.
        """
        super().done_all(messages)
        self._touch()

    def messages(self, *, batch: int = 32, **filter: Unpack[Filter]) -> MessageStream:
        """Iterates over messages until the agent is closed or the hive goes down.

        It fetches up to `batch` messages at once. If this process is killed, each of these counts
        an attempt, so a slow handler wants a small batch; `async for m in agent` has 1.
        """
        return MessageStream(self, batch, filter)

    def __aiter__(self) -> MessageStream:
        return self.messages(batch=1)

    def results(self) -> list[Message]:
        """The answers that receive() does not hand out: those to fire_and_forget(), late ones."""
        found = []
        while (message := self.next_result()) is not None:
            found.append(message)
        self._touch()
        return found

    async def result(self, timeout: float | None = None) -> Message:
        """Waits for the next of those that results() gives."""
        return await self._next(self._driver.seekers, self.next_result, timeout, "result")

    def requeue_dead(self, id: int) -> None:
        """Puts a dead letter back into the inbox."""
        super().requeue_dead(id)
        self._touch()

    def notices(self) -> Stream[Notice]:
        """Iterates over deaths of children and the end of the hive."""

        async def following() -> Notice:
            return notice(
                await self._next(self._driver.notices, self.next_notice, None, "notice")
            )

        return Stream(following)

    async def serve(
        self,
        handler: Handler | Callable[[Message], Outcome | Awaitable[Outcome]],
        *,
        concurrency: int = 1,
        copies: bool = False,
        tasks: Callable[[TaskRun], TaskOutcome | Awaitable[TaskOutcome]] | None = None,
        timeout: float | None = None,
    ) -> int:
        """Gives each message to a function or a Handler; returns how many, tasks included.

        It takes a message only when one of `concurrency` handlers is free. The result of the
        handler is the fate of the message: see beeline.Outcome. An exception requeues it and
        is logged by the logger "beeline"; beeline.Reject makes it a dead letter. `tasks` does the
        tasks of the parent; see beeline.TaskOutcome. `copies`: the handler gets copies of messages
        between children, too. Ends after `timeout` seconds, at stop_serving(), at an order
        beeline.SHUTDOWN of an agent above, and when the agent is closed or the hive goes down.
        """
        if self._service is not None:
            raise RuntimeError(f"agent {self.name} serves already; give that call more concurrency")
        self._service = Service(self, handler_of(handler, tasks), concurrency, copies)
        try:
            return await self._service.run(timeout)
        finally:
            self._service = None

    def stop_serving(self) -> None:
        """Makes serve() return once the handlers that have begun are done."""
        if self._service is not None:
            self._service.stop("stopped")

    async def execute(
        self, child: To, task: Task | str, *, progress: Callable[[Progress], None] | None = None
    ) -> TaskResult:
        """Gives a task to a child and waits for the result. A text is the description.

        `progress` hears of the reports of the child. A cancelled call takes the task back. Errors:
        Denied (no child), TaskFailed, PeerDead, PeerDeadTaken, Rejected (it takes no tasks),
        TimeoutError (of the task).
        """
        work = work_of(task)
        driver = self._driver
        id = await self._patiently(
            child, work["timeout"], lambda peer: self.execute_start(peer, FOREVER, **work)
        )
        if progress is not None:
            tell = progress

            def hear(task: int, kind: int, text: str) -> None:
                try:
                    tell(progress_of(task, kind, text))
                except Exception:
                    log.exception("the progress handler of a task failed")

            driver.progress[id] = hear
        try:
            return task_result(await driver.result(driver.executions, id))
        except asyncio.CancelledError:
            if not self.closed:
                self.cancel_task(id)
                driver.touch()
            raise
        finally:
            driver.progress.pop(id, None)

    async def execute_all(
        self,
        tasks: Iterable[tuple[To, Task | str]],
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> list[TaskResult | BaseException]:
        """Gives tasks to several children at once. One result or exception for each, in order."""
        runs = [self.execute(child, task, progress=progress) for child, task in tasks]
        return await asyncio.gather(*runs, return_exceptions=True)

    def tasks(self) -> Stream[TaskRun]:
        """Iterates over the tasks that the parent gives. Without it, or `tasks` in serve(), an
        agent refuses tasks."""
        self.accept_tasks(True)

        async def following() -> TaskRun:
            run = await self._next(self._driver.tasks, self.next_task, None, "task")
            set_current(run)
            return run

        stream = Stream(following)
        self._task_streams.add(stream)
        return stream

    async def detach(self, drain: float = 0.0) -> int:
        """Leaves the hive and closes the agent. Messages that are still held are requeued.

        Waits up to `drain` seconds until the receivers have taken everything. Returns how many
        messages still lie in lanes, for their receivers. BufferError: views of payloads or loans
        live, and nothing was done; release them, or work on copies.
        """
        if self.closed:
            return 0
        self._driver.enter()
        self._refuse_views()
        self.stop_serving()
        self.detach_start(nanoseconds(drain))
        left = None
        while not self.closed and (left := self.left_behind()) is None:
            self._driver.touch()
            await self._driver.farewell.wait(None)
        self._close()
        return left or 0

    async def aclose(self) -> None:
        """Does as detach() does, without a wait for receivers."""
        await self.detach()

    def _close(self, force: bool = False) -> None:
        super()._close(force)
        self._driver.unbind()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self.aclose()
        except asyncio.CancelledError:
            self._close(force=True)
            raise
        except BufferError:
            if error is None:
                raise
            self._close(force=True)  # The frames of the error hold the views.
