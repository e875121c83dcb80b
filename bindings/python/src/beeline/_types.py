"""The values of the package: ids, options, lists, tasks. Nothing here refers to an agent."""

from __future__ import annotations

import array
import enum
import mmap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypedDict, Union

_COUNT_BITS = 40


class _HasBuffer(Protocol):
    def __buffer__(self, flags: int, /) -> memoryview: ...


class _HasArray(Protocol):
    @property
    def __array_interface__(self) -> Any: ...


Buffer = Union[
    bytes, bytearray, memoryview, "array.array[Any]", mmap.mmap, _HasBuffer, _HasArray
]
"""An object with the buffer protocol, of contiguous bytes: a numpy array for example."""

Payload = Union[Buffer, str]
"""A text travels as UTF-8."""


class MessageId(int):
    """The id of a message. `str()` gives the form for people, "3:21"; of 0 (none) it is empty.

    Give JSON the text, because the number needs 64 bits and many readers of JSON keep 53.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> MessageId:
        """The id that `str()` wrote. ValueError: it cannot have written this text."""
        pid, _, count = text.partition(":")
        try:
            found = cls((int(pid) << _COUNT_BITS) + int(count))
        except ValueError:
            found = cls(0)
        if not found or str(found) != text:
            raise ValueError(f"{text!r} is no message id; one looks like 3:21")
        return found

    def __str__(self) -> str:
        return f"{self >> _COUNT_BITS:d}:{self & ((1 << _COUNT_BITS) - 1):d}" if self else ""

    def __repr__(self) -> str:
        return f"<MessageId {self!s}>"


class Rank(enum.IntEnum):
    """Lower goes first. An inbox that does not age takes any 32-bit number."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3


CRITICAL = Rank.CRITICAL
HIGH = Rank.HIGH
NORMAL = Rank.NORMAL
LOW = Rank.LOW


class Relation(enum.IntEnum):
    """The relation of a sender to the receiver in the tree."""

    SYSTEM = 0
    PARENT = 1
    CHILD = 2
    SIBLING = 3
    OTHER = 4


class State(enum.IntEnum):
    """State of an agent. The agent itself says the first four; the coordinator the last two."""

    IDLE = 0
    RUNNING = 1
    BLOCKED = 2
    SLEEPING = 3
    ZOMBIE = 4
    DEAD = 5


class AckStatus(enum.IntEnum):
    """The receiver's word on a message."""

    ACCEPTED = 0
    QUEUED = 1
    REJECTED = 2
    ESCALATE = 3


class NoticeKind(enum.IntEnum):
    """An event that is not a message."""

    CHILD_AWAY = 0
    CHILD_DEAD = 1
    SHUTDOWN = 2


class Place(enum.StrEnum):
    """The place of a message in an inbox."""

    QUEUED = "queued"
    LANE = "lane"
    TASK = "task"
    AWAITED = "awaited"
    STASHED = "stashed"
    ORDER = "order"
    UNWANTED = "unwanted"
    LEASED = "leased"
    DEAD = "dead"


class AttachOptions(TypedDict, total=False):
    """The options of attach(). Times are seconds. `AttachOptions` in <beeline/types.h> says more.

    hive: empty: $BEELINE_HIVE, else "default".
    parent: the name or the pid of the parent as a text; empty: the coordinator.
    role: "worker" by default; "daemon", "agent", "architect", "lead" or "task".
    temporary: finally dead at the end; otherwise the inbox waits for the next attach.
    order: "aged" (default), "strict" or "fifo". aging_factor: ranks per second, 0.1.
    inbox_capacity: 4096 messages. max_attempts: 3 deliveries. retry_pause: 0.
    max_hops: 32. max_payload_bytes: 0 is the limit of the hive.
    normal_slots, urgent_slots: 256 and 16 for each link.
    send_rate, send_burst, receive_rate, receive_burst: 0 is no limit.
    start_coordinator: True. raise_fd_limit: True; a program with select() says False.
    control_timeout: the longest wait for the coordinator in one control call, 2.0.
    wait: "sleep" (default), "adaptive": the calls of beeline.sync spin for a moment before they
        sleep, or "spin": they never sleep, and neither does the loop of an agent in asyncio.
    spin: the longest spin.
    """

    hive: str
    parent: str
    role: str
    temporary: bool
    order: str
    aging_factor: float
    inbox_capacity: int
    max_attempts: int
    retry_pause: float
    max_hops: int
    max_payload_bytes: int
    send_rate: float
    send_burst: int
    receive_rate: float
    receive_burst: int
    normal_slots: int
    urgent_slots: int
    start_coordinator: bool
    raise_fd_limit: bool
    control_timeout: float
    wait: str
    spin: float


class SendOptions(TypedDict, total=False):
    """The options of each call that sends.

    type, channel: words of at most 31 bytes. rank: NORMAL.
    reply_to: the id of the message that this one answers.
    ttl: seconds until it expires; None: never.
    requires_ack: the receiver reports the fate of the message: see Agent.ack().
    cause: the id of the message that led to this one. Without it the message inherits cause, trace
    and hops from current_message(). inherit: False: it inherits nothing.
    trace: a `traceparent` text. hops: of a message forwarded for another agent.
    """

    type: str
    channel: str
    rank: int
    reply_to: int
    ttl: float | None
    requires_ack: bool
    cause: int
    inherit: bool
    trace: str | None
    hops: int


class Filter(TypedDict, total=False):
    """Selects messages: those that match all fields that are given.

    sender: a pid. oldest_first: the oldest message first, whatever its rank.
    """

    sender: int
    type: str
    channel: str
    reply_to: int
    oldest_first: bool


@dataclass(frozen=True)
class Ack:
    """The result of a handler: the fate of the message, and a text for its sender.

    With ACCEPTED the text answers a request that got no reply. QUEUED: the handler has kept the
    message, and a later reply() ends it.
    """

    status: AckStatus = AckStatus.ACCEPTED
    reply: str | bytes = ""


Outcome = Union[Ack, str, bytes, None]
"""The result of a handler. None: done. A text or bytes: done, and the answer to a request."""


@dataclass(frozen=True)
class Acknowledgement:
    """The receiver's word on a message. `is_cut`: `reply` is the start of a longer one."""

    id: MessageId
    status: AckStatus
    reply: bytes = b""
    is_cut: bool = False

    @property
    def text(self) -> str:
        """`reply` as a text."""
        return self.reply.decode(errors="replace")


@dataclass(frozen=True)
class AgentInfo:
    """An agent as the coordinator knows it. Times are nanoseconds since 1970.

    parent: 0: it is the coordinator itself. away_unix_ns: 0: it has a process.
    """

    pid: int
    parent: int
    name: str
    role: str
    state: State
    children: int
    started_unix_ns: int
    away_unix_ns: int
    os_pid: int
    uid: int
    restarts: int
    temporary: bool


@dataclass(frozen=True)
class InboxItem:
    """One message of an inbox as inbox() lists it.

    sent_ns: of time.monotonic_ns(). ttl: seconds, None: it never expires. preview: the first 64
    bytes of the payload. reason: why it is dead.
    """

    id: MessageId
    sender: int
    sender_name: str
    reply_to: MessageId
    cause: MessageId
    hops: int
    rank: int
    length: int
    attempts: int
    sent_ns: int
    ttl: float | None
    requires_ack: bool
    place: Place
    type: str
    channel: str
    reason: str
    preview: bytes


@dataclass(frozen=True)
class Inbox:
    """The inbox of another agent. `length`: how many messages wait to be handed out.

    damaged_links: links whose messages are not listed.
    """

    pid: int
    name: str
    length: int
    damaged_links: int
    items: list[InboxItem]


@dataclass(frozen=True)
class Counters:
    """At every moment drained = queued + tasks + leased + done + dead + purged."""

    drained: int
    queued: int
    tasks: int
    leased: int
    done: int
    dead: int
    purged: int
    requeued: int
    quarantined_links: int
    late_replies: int
    acks_dropped: int
    acks_unread: int
    copies_dropped: int
    notices_dropped: int


@dataclass(frozen=True)
class Link:
    """The traffic with one peer. not_taken: how many of the messages sent lie in the lanes."""

    peer: int
    is_away: bool
    sent: int
    not_taken: int
    received: int
    copies_dropped: int


@dataclass(frozen=True)
class Notice:
    """The death of a child, or the end of the hive."""

    kind: NoticeKind
    pid: int
    name: str


@dataclass(frozen=True)
class Group:
    """The receivers of a broadcast: Group.ALL, CHILDREN, SUBTREE, or Group.of_role("worker")."""

    kind: int
    role: str = ""
    ALL: ClassVar[Group]
    CHILDREN: ClassVar[Group]
    SUBTREE: ClassVar[Group]

    @classmethod
    def of_role(cls, role: str) -> Group:
        """All agents of a role."""
        return cls(3, role)

    @classmethod
    def of(cls, group: Group | str) -> Group:
        """The group of a word: "all", "children", "subtree" or "role:worker"."""
        if isinstance(group, Group):
            return group
        kind, _, role = group.partition(":")
        if kind == "role" and role:
            return cls.of_role(role)
        if kind not in _GROUPS or role:
            known = '"all", "children", "subtree" or "role:worker"'
            raise ValueError(f"{group!r} is no group; a group is {known}")
        return _GROUPS[kind]


Group.ALL, Group.CHILDREN, Group.SUBTREE = Group(0), Group(1), Group(2)
_GROUPS = {"all": Group.ALL, "children": Group.CHILDREN, "subtree": Group.SUBTREE}


@dataclass(frozen=True)
class Delivery:
    """The result of a broadcast for one receiver: `error` is None where it has the message."""

    pid: int
    name: str
    id: MessageId
    error: BaseException | None

    def __bool__(self) -> bool:
        return self.error is None


@dataclass(frozen=True)
class Task:
    """A piece of work for a child. `timeout`: seconds until the task is given up.

    id: empty: the child sees the id of the message that carried the task.
    priority: a rank; the child does lower ones first.
    """

    description: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    context: str | bytes = b""
    id: str = ""
    parent_task: str = ""
    timeout: float = 120.0
    priority: int = NORMAL


@dataclass(frozen=True)
class TaskResult:
    """The result of a task. One that ended with an exit code other than 0 has a result too."""

    exit_code: int = 0
    output: bytes = b""
    artifacts: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """`output` as a text."""
        return self.output.decode(errors="replace")


@dataclass(frozen=True)
class Progress:
    """A word of a child about a task that it has not finished. `is_log`: a line for a log."""

    task: MessageId
    text: str
    is_log: bool


TaskOutcome = Union[TaskResult, str, bytes, None]
"""The result of a task handler. A text or bytes are the output, with the exit code 0."""

def nanoseconds(seconds: float | None) -> int:
    """The time as the extension takes it. None: without a limit."""
    if seconds is None:
        return FOREVER
    if seconds != seconds:
        raise ValueError("a time is a number of seconds, not nan")
    return max(0, int(min(seconds * 1e9, FOREVER)))


FOREVER = (1 << 63) - 1
CONTROL_TIMEOUT = 2.0
TASK_REQUEST = "task_request"
TASK_RESPONSE = "task_response"
CRON_TASK = "cron_task"
CRON_RESULT = "cron_result"
NOTIFICATION = "notification"
ESCALATION = "escalation"
CANCEL = "cancel"
STEER = "steer"
SHUTDOWN = "shutdown"
