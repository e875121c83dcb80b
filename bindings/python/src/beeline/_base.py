"""The parts of an agent and its objects that beeline.aio and beeline.sync share: nothing waits."""

from __future__ import annotations

import contextlib
import json
import os
import time
import weakref
from collections.abc import Iterable
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Union

from beeline import _core
from beeline._core import Peer
from beeline._errors import ForkedError, Reject, WrongThread
from beeline._types import (
    Acknowledgement,
    AckStatus,
    AgentInfo,
    AttachOptions,
    Counters,
    Delivery,
    Filter,
    Group,
    Inbox,
    InboxItem,
    Link,
    MessageId,
    Notice,
    NoticeKind,
    Payload,
    Place,
    Progress,
    Relation,
    SendOptions,
    State,
    Task,
    TaskResult,
    nanoseconds,
)

if TYPE_CHECKING:
    from typing import Unpack

    from typing_extensions import Self

To = Union[Peer, int, str]
"""A receiver: a Peer, a pid or a name."""

Handled = Union["BaseMessage", "BaseTaskRun"]
_handling: ContextVar[weakref.ref[Any] | None] = ContextVar("beeline_handling", default=None)

set_handling = _handling.set
"""The extension sets it, too."""


def set_current(handled: Handled | None) -> None:
    """Makes it the current message of this context; a weak reference, so that it can end."""
    set_handling(None if handled is None else weakref.ref(handled))


def current() -> Handled | None:
    """The message or task that this context handles, as long as it has not ended."""
    reference = _handling.get()
    handled = None if reference is None else reference()
    try:
        return handled if handled is not None and handled.held else None
    except WrongThread:
        return None


def current_message() -> BaseMessage | None:
    """The message that this task or thread handles, or None.

    receive(), iteration and serve() set it. A task inherits it from the code that creates it, and
    messages that it sends inherit cause, trace and hops from it as long as the lease lasts.
    """
    handled = current()
    return handled if isinstance(handled, BaseMessage) else None


def _sayable(text: str) -> str:
    """The text of an error as one that can be sent: a surrogate without a partner cannot."""
    return text.encode(errors="replace").decode()


class _Lease:
    """`with` for an object that is held until it has ended well or badly."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def held(self) -> bool: ...

    def _succeed(self) -> None:
        raise NotImplementedError

    def _fail(self, error: BaseException) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if not self.held:
            return isinstance(error, Reject)
        if error is None:
            self._succeed()
            return False
        try:
            self._fail(error)
        except BufferError:
            pass  # The views in the frames of the error end with it; then the lease ends by itself.
        return isinstance(error, Reject)


class BaseMessage(_Lease, _core.Message):
    """A message that was handed out: a lease. Belongs to the thread of its agent.

    End it with done(), requeue(), put_back(), reject() or escalate(), or use it as a context
    manager: success is done(), an exception is requeue(), beeline.Reject is reject(). A message
    that is dropped without an end is requeued.

    `payload` and `memoryview(message)` are read-only views of the sender's memory; nothing is
    copied. While such a view lives the lease cannot end: BufferError. Release the view, or work on
    copy(). The facts (id, type, ...) can be read after the end.
    """

    __slots__ = ("__weakref__",)

    if TYPE_CHECKING:

        @property
        def relation(self) -> Relation: ...

    else:

        @property
        def relation(self):
            """The relation of the sender to this agent."""
            return Relation(_core.Message.relation.__get__(self))

    @property
    def sent_at(self) -> float:
        """The time of the send, in seconds since 1970, as far as this clock was not set since."""
        return time.time() - (time.monotonic_ns() - self.sent_ns) / 1e9

    def json(self) -> Any:
        """The payload, read as JSON."""
        return json.loads(self.copy())

    def _succeed(self) -> None:
        self.done()

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, Reject):
            self.reject(_sayable(str(error)))
        else:
            self.requeue()

    def __repr__(self) -> str:
        state = "" if self.held else ", ended"
        return f"<Message {self.id!s} from {self.sender_name or self.sender}{state}>"


class BaseLoan(_core.Loan):
    """Writable payload memory in a link, sent without a copy. Belongs to the thread of its agent.

    `payload` and `memoryview(loan)` are writable; the memory holds bytes of an earlier message.
    Views must be released before the loan is sent: BufferError. As a context manager it gives the
    memory back unless it was sent.
    """

    __slots__ = ("__weakref__",)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.release()
        except BufferError:
            if error is None:
                raise


class BaseTaskRun(_Lease, _core.TaskRun):
    """A task in the hands of this agent, given by its parent.

    End it with finish() or fail(), or use it as a context manager: success is finish(), an
    exception is fail() with its text. A task that is dropped without an end fails.
    """

    __slots__ = ("__weakref__",)

    def _succeed(self) -> None:
        self.finish()

    def _fail(self, error: BaseException) -> None:
        self.fail(_sayable(f"{type(error).__name__}: {error}"))

    def conclude(self, result: TaskResult | str | bytes | None) -> None:
        """Ends it with the result of a handler."""
        if isinstance(result, TaskResult):
            self.finish(result.exit_code, result.output, result.artifacts, result.metadata)
        else:
            self.finish(output=result or b"")


_M = TypeVar("_M", bound=BaseMessage)
_L = TypeVar("_L", bound=BaseLoan)
_R = TypeVar("_R", bound=BaseTaskRun)


class BaseAgent(_core.Agent[_M, _L, _R]):
    """The calls of an agent that never wait. One thread uses an agent: WrongThread."""

    _hive: str
    _peers: dict[int | str, Peer]

    def _begin(self, options: AttachOptions) -> None:
        self._hive = options.get("hive", "") or os.environ.get("BEELINE_HIVE", "") or "default"
        self._peers = {}

    def _touch(self) -> None:
        """Called after each call that may have looked at the lanes. For an event loop."""

    @property
    def hive(self) -> str:
        """The name of the hive."""
        return self._hive

    def _known(self, to: To) -> Peer | None:
        return to if isinstance(to, Peer) else self._peers.get(to)

    def _inherit(self, options: Any) -> None:
        # Says which message the new one inherits from: the current one of this context, or none.
        if not options.get("inherit", True):
            return
        handled = current()
        if isinstance(handled, BaseMessage) and handled.agent is self:
            options["about"] = handled
            return
        options["inherit"] = False
        if isinstance(handled, BaseTaskRun) and handled.agent is self:
            options.setdefault("cause", handled.message_id)

    def _must_know(self, to: To) -> Peer:
        peer = self._known(to)
        if peer is None:
            raise LookupError(
                f"this agent has not spoken to {to!r} yet, and this call cannot wait for the "
                "coordinator; call peer() first"
            )
        return peer

    def send_threadsafe(  # type: ignore[override]
        self, to: To, payload: Payload, *, timeout: float = 0.0, **options: Unpack[SendOptions]
    ) -> MessageId:
        """Sends from any thread, and waits up to `timeout` seconds for room. Inherits nothing.

        LookupError: call peer() in the thread of the agent first.
        """
        return super().send_threadsafe(self._must_know(to), payload, timeout=timeout, **options)

    def inbox(self, limit: int = 1000, **filter: Unpack[Filter]) -> list[InboxItem]:
        """Lists the messages in the inbox, at most `limit`; takes nothing."""
        items = [_item(facts) for facts in self.inbox_nowait(limit, **filter)]
        self._touch()
        return items

    def counters(self) -> Counters:
        """Counts the messages of the inbox by their place."""
        return Counters(**self._counters())

    def links(self) -> list[Link]:
        """The traffic with each peer."""
        return [Link(**facts) for facts in self._links()]

    def _broadcast(self, group: Group, payload: Payload, options: Any) -> list[Delivery]:
        sent = self.broadcast_nowait(group.kind, group.role, payload, **options)
        self._touch()
        return [Delivery(pid, name, MessageId(id), error) for pid, name, id, _, error in sent]

    def _refuse_views(self) -> None:
        views = self.views()
        if views:
            raise BufferError(
                f"{views} views of payloads or loans live; release them before the agent is "
                "closed, or work on message.copy() or bytes(view)"
            )

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"pid {self.pid}"
        return f"<{type(self).__module__}.Agent {self.name} ({state})>"


def put_back(messages: Iterable[BaseMessage]) -> None:
    """Gives messages back that nobody has seen. In another thread they are requeued instead."""
    for message in messages:
        with contextlib.suppress(WrongThread, ForkedError):
            if message.held:
                message.put_back()


def work_of(task: Task | str) -> dict[str, Any]:
    """The keywords of execute_start()."""
    return vars(task if isinstance(task, Task) else Task(task))


def acknowledgement(facts: tuple[int, int, bytes, bool]) -> Acknowledgement:
    id, status, reply, is_cut = facts
    return Acknowledgement(MessageId(id), AckStatus(status), reply, is_cut)


def agent_info(facts: dict[str, Any]) -> AgentInfo:
    facts["state"] = State(facts["state"])
    return AgentInfo(**facts)


def notice(facts: tuple[int, int, str]) -> Notice:
    kind, pid, name = facts
    return Notice(NoticeKind(kind), pid, name)


def task_result(facts: dict[str, Any]) -> TaskResult:
    return TaskResult(**facts)


def progress_of(task: int, kind: int, text: str) -> Progress:
    return Progress(MessageId(task), text, kind == 1)


def _item(facts: dict[str, Any]) -> InboxItem:
    facts["place"] = Place(facts["place"])
    return InboxItem(**facts)


def look_into_inbox(name: str, hive: str = "", control_timeout: float = 2.0) -> Inbox:
    """Lists the inbox of another agent of this user, by name or pid, without being an agent.

    Waits for the coordinator. Any thread may call it.
    """
    facts = _core.look_into_inbox(name, hive, nanoseconds(control_timeout))
    facts["items"] = [_item(item) for item in facts["items"]]
    return Inbox(**facts)
