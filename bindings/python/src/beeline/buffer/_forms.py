"""The requests to the buffer and its answers, without a call that waits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

from beeline._base import BaseMessage
from beeline._errors import InvalidArgument, ProtocolError
from beeline._processes import error_of
from beeline._types import SendOptions

if TYPE_CHECKING:
    from typing import Unpack

    from typing_extensions import Self

BATCH = "buffer.batch"
"""The type of the messages that bring batches."""

MOST_BATCHES = 64
LOOK_EVERY = 30.0
"""A wait for a batch looks so often, in seconds, whether another buffer has the name by now."""
_MOST_TASKS = 1000
_M = TypeVar("_M", bound=BaseMessage)


class PutOptions(TypedDict, total=False):
    """The options of put().

    sender: the name of the agent if not given. conversation: batches are made by conversation and
    channel. priority: lower first; that of the route, or of the channel, or 100. key: a second put
    of the channel with this key gets the row of the first.
    """

    sender: str
    conversation: str
    priority: int
    key: str


@dataclass(frozen=True)
class Receipt:
    """The row of a message. `repeated`: it was there already."""

    id: int
    repeated: bool


@dataclass(frozen=True)
class BufferedMessage:
    """A message as the buffer keeps it. `received_at`: UTC, "2026-01-31 12:00:00.250"."""

    id: int
    channel: str
    sender: str
    conversation: str
    payload: str
    received_at: str
    priority: int

    def json(self) -> Any:
        """The payload, read as JSON."""
        return json.loads(self.payload)


@dataclass(frozen=True)
class Depth:
    """The messages of a channel that no batch has yet."""

    channel: str
    unrouted: int
    oldest_age_ms: int


@dataclass(frozen=True)
class Status:
    """How full the buffer is.

    unrouted: messages that no batch has yet. oldest_age_ms: of one of these; 0 if there is none.
    channels: those with such messages, by name. waiting: for the main agent. leased: handed out and
    not acknowledged. open_tasks: their agents start or run.
    """

    unrouted: int
    oldest_age_ms: int
    channels: Sequence[Depth]
    waiting_batches: int
    waiting_messages: int
    leased_batches: int
    leased_messages: int
    waiting_tasks: int
    open_tasks: int


@dataclass(frozen=True)
class Task:
    """A batch for which the buffer has spawned an agent, or will.

    status: waiting, starting, running, completed or failed. pid: of the agent; 0: none yet.
    result: of the agent, or the reason of the failure.
    """

    id: int
    batch: int
    channel: str
    conversation: str
    template: str
    text: str
    status: str
    pid: int
    exit_code: int | None
    result: str


class BaseBatch(Generic[_M]):
    """Messages of one conversation on one channel, by id; at least one.

    done() ends the batch, and reject() ends it as a dead letter. requeue() puts it back. As a
    context manager: success is done(), an exception requeue(). A batch that is dropped without an
    end comes again, flagged as redelivered, and so does that of an agent that was killed.
    """

    __slots__ = ("channel", "conversation", "id", "message", "messages", "redelivered")

    id: int
    channel: str
    conversation: str
    redelivered: bool  # it was handed out before, and not acknowledged
    messages: list[BufferedMessage]
    message: _M  # that brought it

    def __init__(self, message: _M) -> None:
        if message.type != BATCH:
            raise InvalidArgument(
                f"message {message.id} has the type {message.type!r}; a batch has {BATCH!r}"
            )
        try:
            found = json.loads(message.copy())
            self.id = _value(found, "id", int)
            self.channel = _value(found, "channel", str)
            self.conversation = _value(found, "conversation", str)
            # A predecessor of this agent had it, or this agent has put it back.
            self.redelivered = _value(found, "redelivered", bool) or message.redelivered
            self.messages = _list(BufferedMessage, found, "messages")
        except (ValueError, RecursionError, ProtocolError) as error:
            raise InvalidArgument(
                f"message {message.id} is no batch of a buffer: {error}"
            ) from None
        if not self.messages:
            raise InvalidArgument(
                f"message {message.id} is no batch of a buffer: it has no messages"
            )
        self.message = message

    @property
    def held(self) -> bool:
        """False once it has ended."""
        return self.message.held

    def done(self) -> None:
        """Ends the batch; its messages do not come again."""
        self.message.done()

    def requeue(self) -> None:
        """Puts it back into the inbox of this agent, with one attempt more."""
        self.message.requeue()

    def reject(self, reason: str = "") -> None:
        """Makes the message a dead letter of this agent."""
        self.message.reject(reason)

    def __enter__(self) -> Self:
        self.message.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self.message.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        state = "" if self.held else ", ended"
        return f"<Batch {self.id} of {self.channel!r}: {len(self.messages)} messages{state}>"


@dataclass(frozen=True)
class Call:
    """One request to the buffer."""

    type: str
    fields: Mapping[str, Any]

    @property
    def payload(self) -> str:
        return json.dumps(self.fields)

    @property
    def options(self) -> SendOptions:
        # A put belongs to the message in hand, so that a trace leads to the buffer. The other
        # calls do not: hops would add up from batch to batch.
        return SendOptions(type=self.type, inherit=self.type == "buffer.put")

    def read(self, answer: BaseMessage) -> dict[str, Any]:
        """The answer, which is ended. An error that the buffer answered is raised."""
        with answer:
            text = answer.copy()
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ProtocolError(f"the buffer answered {self.type} with no object: {text[:40]!r}")
        refused = found.get("error")
        if refused is None:
            return found
        words = refused if isinstance(refused, dict) else {}
        raise error_of(str(words.get("code", "")), str(words.get("text", refused)))


def put_call(channel: str, payload: object, options: PutOptions) -> Call:
    unknown = set(options) - set(PutOptions.__annotations__)
    if unknown:
        raise TypeError(f"put() has no option {sorted(unknown)[0]!r}")
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return Call("buffer.put", {"channel": channel, "payload": text, **options})


def next_call(count: int) -> Call:
    if not 1 <= count <= MOST_BATCHES:
        raise InvalidArgument(f"{count} batches were asked for; ask for 1 to {MOST_BATCHES}")
    return Call("buffer.next", {"count": count})


def acknowledge_call(batch: int) -> Call:
    return Call("buffer.ack", {"batch": batch})


def status_call() -> Call:
    return Call("buffer.status", {})


def tasks_call(status: str) -> Call:
    fields = {"what": "tasks", "most": _MOST_TASKS}
    return Call("buffer.list", {**fields, "status": status} if status else fields)


_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "int | None": (int, NoneType),
    "str": (str,),
    "bool": (bool,),
    "Sequence[Depth]": (list,),
}
"""The types of JSON for the annotations above."""


def _value(found: Any, key: str, *kinds: type) -> Any:
    """The value of an object of an answer; it has one of these types."""
    try:
        value = found[key]
    except (TypeError, LookupError):
        raise ProtocolError(f"the buffer broke the form of its answer: it has no {key!r}") from None
    if type(value) not in kinds:
        raise ProtocolError(
            f"the buffer broke the form of its answer: {key!r} must be of the type "
            f"{kinds[0].__name__}, it is of the type {type(value).__name__}"
        )
    return value


def _made(kind: type[Any], found: Any) -> Any:
    # Keys of a newer buffer are left out.
    annotations = kind.__annotations__.items()
    return kind(**{key: _value(found, key, *_KINDS[words]) for key, words in annotations})


def _list(kind: type[Any], found: Any, key: str) -> list[Any]:
    return [_made(kind, each) for each in _value(found, key, list)]


def receipt_of(found: Mapping[str, Any]) -> Receipt:
    made: Receipt = _made(Receipt, found)
    return made


def acknowledged_of(found: Mapping[str, Any]) -> bool:
    was_open: bool = _value(found, "was_open", bool)
    return was_open


def status_of(found: Mapping[str, Any]) -> Status:
    channels = _list(Depth, found, "channels")
    made: Status = _made(Status, {**found, "channels": channels})
    return made


def tasks_of(found: Mapping[str, Any]) -> list[Task]:
    return _list(Task, found, "tasks")
