"""The values of this face: plain dataclasses, every field with a default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar


@dataclass
class AgentConfig:
    """The settings that on_init() is given."""

    name: str = ""
    system_prompt: str = ""
    model: str = ""
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass
class Task:
    """A piece of work that a parent gives to handle_task() of its child."""

    task_id: str = ""
    description: str = ""
    params: dict[str, str] = field(default_factory=dict)
    priority: str = "normal"
    timeout_seconds: int = 0
    context: bytes = b""
    parent_task_id: str = ""


@dataclass(eq=False)
class TaskResult(Mapping[str, Any]):
    """The result of a task, read by attribute or by key: `result.output`, `result["output"]`."""

    exit_code: int = 0
    output: str = ""
    artifacts: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:
        if key not in _RESULT_KEYS:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_RESULT_KEYS)

    def __len__(self) -> int:
        return len(_RESULT_KEYS)


_RESULT_KEYS = tuple(each.name for each in fields(TaskResult))


@dataclass
class Message:
    """A message as handle_message() gets it.

    relation: of the sender to this agent: system, parent, child, sibling or other.
    timestamp: when it was sent, in milliseconds since 1970.
    reply_to: the id of the message that it answers, or the word under which its sender waits for
    the answer; empty: neither.
    """

    message_id: str = ""
    from_pid: int = 0
    from_name: str = ""
    relation: str = "system"
    type: str = ""
    priority: str = "normal"
    payload: bytes = b""
    timestamp: int = 0
    requires_ack: bool = False
    reply_to: str = ""


@dataclass
class MessageAck:
    """The result of handle_message(): what becomes of the message, and a text for its sender.

    ACK_ACCEPTED: it is done; a reply answers a sender that waits. ACK_QUEUED: the agent keeps it
    until it answers. ACK_REJECTED: it is a dead letter. ACK_ESCALATE: the parent gets it.
    """

    ACK_ACCEPTED: ClassVar[int] = 0
    ACK_QUEUED: ClassVar[int] = 1
    ACK_REJECTED: ClassVar[int] = 2
    ACK_ESCALATE: ClassVar[int] = 3

    message_id: str = ""
    status: int = ACK_ACCEPTED
    reply: str = ""


@dataclass
class ResourceUsage:
    """How much of its budget an agent has used."""

    tokens_consumed: int = 0
    tokens_remaining: int = 0
    children_active: int = 0
    children_max: int = 0
    context_usage_percent: float = 0.0
    uptime_seconds: int = 0
