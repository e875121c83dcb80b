"""Gives what comes to an agent of the engine to the methods of a HiveAgent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from beeline import _core, aio
from beeline._serving import Handler
from beeline._types import SHUTDOWN, Ack, AckStatus
from beeline._types import TaskResult as EngineResult
from beeline.hive.children import READY
from beeline.hive.held import Held
from beeline.hive.post import Post
from beeline.hive.syscall import SyscallContext
from beeline.hive.types import Message, MessageAck, Task, TaskResult
from beeline.hive.words import priority_of

if TYPE_CHECKING:
    from beeline.hive.agent import HiveAgent

_log = logging.getLogger("beeline.hive")
_DONE = Ack()
_LOOK_AGAIN = 0.1  # seconds until the next look whether a task is still wanted
_LINGER = 0.5  # seconds that an agent of the role task waits for another task


class _Reports:
    """Sends the reports of a task to the parent."""

    def __init__(self, run: aio.TaskRun) -> None:
        self._run = run

    async def put(self, report: tuple[bool, str]) -> None:
        is_log, text = report
        if self._run.held:
            self._run.log(text) if is_log else self._run.update(text)


class Desk(Handler):
    """Serves one HiveAgent."""

    def __init__(self, owner: HiveAgent, agent: aio.Agent, post: Post) -> None:
        self._owner = owner
        self._agent = agent
        self._post = post
        self._at_work = 0
        self._late = 0
        self._end: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def on_start(self, agent: aio.Agent) -> None:
        agent._driver.listeners.add(self._look)
        agent._touch()

    async def on_stop(self, reason: str) -> None:
        self._agent._driver.listeners.discard(self._look)
        for task in self._running:
            task.cancel()
        if self._end is not None:
            self._end.cancel()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something beside the handlers, until this agent stops to serve."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    # ---- Messages ----

    async def on_message(self, lease: aio.Message) -> Ack:
        if lease.type == READY:
            return Ack(reply=READY)  # This agent serves, so its on_init() has returned.
        held = self._post.hold(lease)
        keeps = False
        try:
            ack = await self._owner.on_message(held.letter)
            outcome = _outcome(ack, held)
            keeps = outcome.status == AckStatus.QUEUED
            return outcome
        finally:
            if not keeps:
                self._post.let_go(held)

    async def on_control(self, order: str, lease: aio.Message) -> Any:
        if order == SHUTDOWN:
            return await self._owner.shut_down(lease.copy().decode(errors="replace"))
        return await self.on_message(lease)

    def _look(self, found: _core.Readiness) -> None:
        # Answers that no request waits for: late ones, and those to messages sent without a wait.
        late = self._late if found.ended else self._agent._arrivals()[1]
        if late != self._late:
            self._late = late
            for lease in self._agent.results():
                letter = self._post.open(lease)
                lease.done()
                self.start(self.take(letter))

    async def take(self, letter: Message) -> None:
        """Gives a message to the owner that the engine has ended already."""
        try:
            await self._owner.on_message(letter)
        except Exception:
            _log.exception("on_message() failed for the answer %s", letter.message_id)

    # ---- Tasks ----

    async def on_task(self, run: aio.TaskRun) -> EngineResult | None:
        if self._end is not None:
            self._end.cancel()
        self._at_work += 1
        try:
            return await self._do(run)
        finally:
            self._at_work -= 1
            if self._agent.closed or self._at_work or self._owner.role != "task":
                self._end = None
            else:
                loop = asyncio.get_running_loop()
                self._end = loop.call_later(_LINGER, self._owner.stop)

    async def _do(self, run: aio.TaskRun) -> EngineResult | None:
        work = asyncio.create_task(self._owner.do_task(_task_of(run), _Reports(run)))
        watch = asyncio.create_task(_until_unwanted(run, work))
        try:
            return _engine_result(await work)
        except asyncio.CancelledError:
            if run.held and not run.cancelled:
                raise  # This agent ends.
            run.fail("nobody waits for the task any more")
            return None
        except Exception as error:
            _log.warning("handle_task() failed for %s", run.id, exc_info=error)
            run.fail(str(error) or type(error).__name__)
            return None
        finally:
            watch.cancel()


async def _until_unwanted(run: aio.TaskRun, work: asyncio.Task[Any]) -> None:
    while not work.done():
        await asyncio.sleep(_LOOK_AGAIN)
        if run.cancelled:
            work.cancel()


def _outcome(ack: object, held: Held) -> Ack:
    if not isinstance(ack, MessageAck):
        raise TypeError(f"handle_message() returns a MessageAck, not {ack!r}")
    is_answered = ack.status == MessageAck.ACK_QUEUED and held.answered  # The answer was faster.
    if is_answered or (ack.status == MessageAck.ACK_ACCEPTED and not ack.reply):
        return _DONE
    return Ack(AckStatus(ack.status), ack.reply)


def _task_of(run: aio.TaskRun) -> Task:
    return Task(
        task_id=run.id,
        description=run.description,
        params=run.params,
        priority=priority_of(run.priority),
        timeout_seconds=round(run.timeout),
        context=run.context,
        parent_task_id=run.parent_task,
    )


def _engine_result(result: object) -> EngineResult:
    if not isinstance(result, TaskResult):
        raise TypeError(f"handle_task() returns a TaskResult, not {result!r}")
    return EngineResult(
        result.exit_code, result.output.encode(), result.artifacts, result.metadata
    )
