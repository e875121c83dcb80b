"""Beeline without asyncio: the names of `beeline`, and the calls wait.

A call that waits lets other threads run, and a signal wakes it: Ctrl-C raises KeyboardInterrupt at
once. One thread uses an agent and its objects, the one that attached it: WrongThread. Other threads
use send_threadsafe(). Times are seconds.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from beeline import _core
from beeline._base import (
    BaseAgent,
    BaseLoan,
    BaseMessage,
    BaseTaskRun,
    To,
    acknowledgement,
    agent_info,
    notice,
    progress_of,
    put_back,
    set_current,
    task_result,
    work_of,
)
from beeline._core import Peer
from beeline._errors import BeelineError, ClosedError, Full, RateLimited
from beeline._processes import ProcessCalls
from beeline._serving import (
    Handler,
    begin,
    conclude,
    does_tasks,
    give_up,
    handler_of,
    is_shutdown,
    log,
)
from beeline._types import (
    CONTROL_TIMEOUT,
    FOREVER,
    Acknowledgement,
    AgentInfo,
    AttachOptions,
    Delivery,
    Filter,
    Group,
    MessageId,
    Notice,
    Outcome,
    Payload,
    Progress,
    SendOptions,
    Task,
    TaskOutcome,
    TaskResult,
    nanoseconds,
)

if TYPE_CHECKING:
    from typing import Unpack

    from typing_extensions import Self

_LONGEST_SLEEP = 0.02

__all__ = ["Agent", "Loan", "Message", "TaskRun", "attach"]


class Message(BaseMessage):
    __slots__ = ()
    __doc__ = BaseMessage.__doc__

    def reply(
        self, payload: Payload, *, timeout: float | None = None, **options: Unpack[SendOptions]
    ) -> MessageId:
        """Answers the message, whose lease goes on unless it was deferred. As Agent.send()."""
        if timeout is None:
            return self.reply_nowait(payload, **options)
        return self._wait_reply(nanoseconds(timeout), payload, **options)


class Loan(BaseLoan):
    __slots__ = ()
    __doc__ = BaseLoan.__doc__

    def send(self, *, timeout: float | None = None, **options: Unpack[SendOptions]) -> MessageId:
        """Sends it. As Agent.send(); after Full it can be sent again."""
        if timeout is None:
            return self.send_nowait(**options)
        return self._wait_send(nanoseconds(timeout), **options)


class TaskRun(BaseTaskRun):
    __slots__ = ()
    __doc__ = BaseTaskRun.__doc__


def attach(name: str = "", **options: Unpack[AttachOptions]) -> Agent:
    """Joins a hive under a name; starts its coordinator on first use. See beeline.attach()."""
    options.setdefault("control_timeout", CONTROL_TIMEOUT)
    options.setdefault("wait", "sleep")
    agent = _core.attach(Agent, Message, Loan, TaskRun, name=name, **options)
    agent._begin(options)
    return agent


class Agent(ProcessCalls, BaseAgent[Message, Loan, TaskRun]):
    """An agent of a hive: an inbox, links to peers, a place in the tree. See attach().

    Close it with close(), or use it in `with`; an agent that is dropped warns.
    The options of all sends are those of SendOptions, of all filters those of Filter.
    """

    _stopped: str

    def _begin(self, options: AttachOptions) -> None:
        super()._begin(options)
        self._stopped = ""

    if TYPE_CHECKING:

        def try_receive(  # type: ignore[override]
            self, **filter: Unpack[Filter]
        ) -> Message | None:
            """The next message, or None: there is nothing now."""

        def try_receive_batch(  # type: ignore[override]
            self, most: int, **filter: Unpack[Filter]
        ) -> list[Message]:
            """The next messages, at most `most`, all leases of their own; may be empty."""

        def send(
            self,
            to: To,
            payload: Payload,
            *,
            timeout: float | None = None,
            **options: Unpack[SendOptions],
        ) -> MessageId:
            """Sends, and returns the id once the message lies in the receiver's lane."""

        def receive(self, timeout: float | None = None, **filter: Unpack[Filter]) -> Message:
            """The next message in delivery order. TimeoutError: none has come in that time."""

    else:
        send = _core.Agent._send
        receive = _core.Agent._receive

    def send_many(  # type: ignore[override]
        self,
        to: To,
        payloads: Iterable[Payload],
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> int:
        """Sends several messages with the same options, in order; returns how many were sent.

        It stops where there is no room, after a wait of `timeout` seconds if that is given.
        """
        rest = list(payloads)
        count = len(rest)
        until = time.monotonic() + (timeout or 0.0)
        while rest:
            try:
                rest = rest[super().send_many(to, rest, **options) :]
                if rest:
                    self.send(to, rest[0], timeout=until - time.monotonic(), **options)
                    rest = rest[1:]
            except Exception as error:
                # An error of a later message must not hide that the first ones were sent.
                if len(rest) == count and not isinstance(error, (Full, RateLimited)):
                    raise
                break
        return count - len(rest)

    def request(
        self,
        to: To,
        payload: Payload,
        *,
        timeout: float = 25.0,
        cancel_on_timeout: bool = True,
        **options: Unpack[SendOptions],
    ) -> Message:
        """Sends, and waits for the answer, which is a message to be ended.

        Errors: TimeoutError, Unanswered, Rejected, PeerDead, PeerDeadTaken, and those of a send.
        `cancel_on_timeout`: when the wait ends without an answer, the message is taken back.
        """
        return self._wait_request(
            nanoseconds(timeout), to, payload, cancel_on_timeout=cancel_on_timeout, **options
        )

    def send_acked(
        self,
        to: To,
        payload: Payload,
        *,
        timeout: float = 25.0,
        **options: Unpack[SendOptions],
    ) -> Acknowledgement:
        """Sends, and waits for the receiver's word on the message. Errors of request()."""
        return acknowledgement(
            self._wait_send_acked(nanoseconds(timeout), to, payload, **options)
        )

    def ack(self, to: To, id: int, timeout: float = 25.0) -> Acknowledgement:
        """Waits for the receiver's word on a message that was sent with requires_ack."""
        found = self._wait_ack(nanoseconds(timeout), to, id)
        if found is None:
            raise TimeoutError(f"no acknowledgement of {MessageId(id)} has come in {timeout} s")
        return acknowledgement(found)

    def broadcast(
        self, group: Group | str, payload: Payload, **options: Unpack[SendOptions]
    ) -> list[Delivery]:
        """Sends to each agent of a group except this one. A receiver without room gets nothing,
        and its Delivery has the error."""
        return self._broadcast(Group.of(group), payload, options)

    def loan(self, to: To, size: int, *, timeout: float | None = None) -> Loan:
        """Lends `size` bytes of memory in the link to a peer, to be written and sent in place."""
        return self._wait_borrow(0 if timeout is None else nanoseconds(timeout), to, size)

    def messages(self, *, batch: int = 32, **filter: Unpack[Filter]) -> Iterator[Message]:
        """Iterates over messages until the agent is closed or the hive goes down.

        It fetches up to `batch` messages at once. If this process is killed, each of these counts
        an attempt, so a slow handler wants a small batch; `for m in agent` has 1. Those that the
        loop has not seen are put back at its end.
        """
        fetched: list[Message] = []
        try:
            while True:
                fetched = self._wait_receive_batch(batch, FOREVER, **filter)
                fetched.reverse()
                while fetched:
                    message = fetched.pop()
                    if message.held:
                        set_current(message)
                        yield message
        except ClosedError:
            return
        finally:
            put_back(fetched)

    def __iter__(self) -> Iterator[Message]:
        return self.messages(batch=1)

    def results(self) -> list[Message]:
        """The answers that receive() does not hand out: those to fire_and_forget(), late ones."""
        return list(iter(self.next_result, None))

    def notices(self) -> Iterator[Notice]:
        """The deaths of children and the end of the hive that were told; does not wait."""
        return map(notice, iter(self.next_notice, None))

    def serve(
        self,
        handler: Handler | Callable[[Message], Outcome],
        *,
        copies: bool = False,
        tasks: Callable[[TaskRun], TaskOutcome] | None = None,
        timeout: float | None = None,
    ) -> int:
        """Gives each message to a function or a Handler, one after the other; returns how many,
        tasks included. See Agent.serve() of beeline.aio."""
        chosen = handler_of(handler, tasks)
        with_tasks = does_tasks(chosen)
        until = None if timeout is None else time.monotonic() + timeout
        self.accept_tasks(with_tasks)
        self._stopped = ""
        try:
            chosen.on_start(self)
            return self._serve(chosen, copies, with_tasks, until)
        except BaseException:
            self._stopped = "failed"
            raise
        finally:
            if not self.closed:
                self.accept_tasks(False)
            set_current(None)
            chosen.on_stop(self._stopped)

    def _serve(
        self, handler: Handler, copies: bool, with_tasks: bool, until: float | None
    ) -> int:
        count = 0
        try:
            while not self._stopped:
                handled = self._serve_once(handler, copies, with_tasks)
                count += handled
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    self._stopped = self._stopped or "timeout"
                if not handled and not self._stopped:
                    self._sleep(left, with_tasks)
        except ClosedError:
            self._stopped = "closed"
        return count

    def _sleep(self, left: float | None, with_tasks: bool) -> None:
        found = self._wait(nanoseconds(left))
        if found.ended:
            self._stopped = "closed"
        elif not (found.messages or found.notices or with_tasks and found.tasks):
            if any(found[:-1]):
                # Something waits that serve() does not take, so _wait() does not sleep.
                seconds = min(_LONGEST_SLEEP, left or _LONGEST_SLEEP, found.next_ns / 1e9)
                poll = select.poll()
                poll.register(self.fileno(), select.POLLIN)
                poll.poll(seconds * 1e3)

    def _serve_once(self, handler: Handler, copies: bool, with_tasks: bool) -> int:
        # Handles one of each kind; returns the number of messages and tasks.
        if (told := self.next_notice()) is not None:
            try:
                handler.on_notice(notice(told))
            except Exception:
                log.exception("a handler failed for a notice")
        count = 0
        message = self.try_receive()
        if message is not None and message.is_copy and not copies:
            message.done()
        elif message is not None:
            count += 1
            self._handle(message, handler)
        run = self.next_task() if with_tasks and not self._stopped else None
        if run is not None:
            count += 1
            self._do(run, handler)
        return count

    def _handle(self, message: Message, handler: Handler) -> None:
        set_current(message)
        stops = is_shutdown(message)
        try:
            conclude(message, begin(handler, message))
        except BaseException as error:
            give_up(message, error)
            if not isinstance(error, Exception):
                raise
        if stops:
            self._stopped = "shutdown"

    def _do(self, run: TaskRun, handler: Handler) -> None:
        set_current(run)
        try:
            result = handler.on_task(run)
            if run.held:
                run.conclude(result)
        except BaseException as error:
            give_up(run, error)
            if not isinstance(error, Exception):
                raise

    def stop_serving(self) -> None:
        """Makes serve() return after the current message."""
        self._stopped = self._stopped or "stopped"

    def execute(
        self, child: To, task: Task | str, *, progress: Callable[[Progress], None] | None = None
    ) -> TaskResult:
        """Gives a task to a child and waits for the result. A text is the description.

        `progress` hears of the reports of the child. Errors: Denied (no child), TaskFailed,
        PeerDead, PeerDeadTaken, Rejected (it takes no tasks), TimeoutError (of the task).
        """
        (result,) = self.execute_all([(child, task)], progress=progress)
        if isinstance(result, BaseException):
            raise result
        return result

    def execute_all(
        self,
        tasks: Iterable[tuple[To, Task | str]],
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> list[TaskResult | BaseException]:
        """Gives tasks to several children at once. One result or exception for each, in order."""
        results: list[TaskResult | BaseException | None] = []
        places: dict[int, int] = {}
        try:
            for child, task in tasks:
                try:
                    places[self.execute_start(child, FOREVER, **work_of(task))] = len(results)
                    results.append(None)
                except BeelineError as error:
                    results.append(error)
            while places:
                self._hear_task(places, results, progress)
        finally:
            for id in places:
                self.cancel_task(id)
        return [result for result in results if result is not None]

    def _hear_task(
        self,
        places: dict[int, int],
        results: list[TaskResult | BaseException | None],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        event = self._wait_task_event(FOREVER)
        if event is None or event[0] not in places:
            return
        task, kind, said = event
        if isinstance(said, dict):
            results[places.pop(task)] = task_result(said)
        elif isinstance(said, BaseException):
            results[places.pop(task)] = said
        elif progress is not None:
            progress(progress_of(task, kind, said))

    def tasks(self) -> Iterator[TaskRun]:
        """Iterates over the tasks that the parent gives. Without it, or `tasks` in serve(), an
        agent refuses tasks."""
        self.accept_tasks(True)
        try:
            while True:
                run = self._wait_task(FOREVER)
                if run is not None:
                    set_current(run)
                    yield run
                    self.accept_tasks(True)  # A serve() meanwhile refuses them.
        except ClosedError:
            return

    def peer(self, to: To) -> Peer:
        """The peer of a name or a pid; opens the link on first use. NoAgent, PeerDead, Denied."""
        if isinstance(to, Peer):
            return to
        peer = self._peers[to] = self.find_peer(to)
        return peer

    def wait_for(self, name: str, timeout: float | None = None) -> Peer:
        """Waits until an agent of that name is there. NoAgent: the time is over."""
        peer = self._peers[name] = self._wait_for(nanoseconds(timeout), name)
        return peer

    def siblings(self) -> list[AgentInfo]:
        """The other children of this agent's parent, by pid."""
        return [agent_info(facts) for facts in self._siblings()]

    def children(self, recursive: bool = False) -> list[AgentInfo]:
        """The children of this agent, or all its descendants, by pid."""
        return [agent_info(facts) for facts in self._children(recursive)]

    def info(self, pid: int = 0) -> AgentInfo:
        """One agent; 0: this one."""
        return agent_info(self._info(pid))

    def find(self, name: str) -> AgentInfo:
        """The agent that a name, or a pid in decimal, means."""
        return agent_info(self._find(name))

    def detach(self, drain: float = 0.0) -> int:
        """Leaves the hive and closes the agent. Messages that are still held are requeued.

        Waits up to `drain` seconds until the receivers have taken everything. Returns how many
        messages still lie in lanes, for their receivers. BufferError: views of payloads or loans
        live, and nothing was done; release them, or work on copies.
        """
        if self.closed:
            return 0
        self._refuse_views()
        self.stop_serving()
        left = self._wait_detach(nanoseconds(drain))
        self._close()
        return left

    def close(self) -> None:
        """Does as detach() does, without a wait for receivers."""
        self.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except BufferError:
            if error is None:
                raise
            self._close(force=True)  # The frames of the error hold the views.
