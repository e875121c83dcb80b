"""The facts about one agent."""

from __future__ import annotations

import pwd
import socket
from dataclasses import dataclass

from beeline._types import AgentInfo
from beeline.hive.words import role_number, state_number

_OPERATIONAL = 2


def user_name(uid: int) -> str:
    """The name of a user, or the number as a text where the system knows no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@dataclass
class ProcessInfo:
    """An agent. Roles and states are numbers; started_at is in seconds since 1970.

    Beeline knows no models, tiers and tokens, so these fields have their defaults.
    """

    pid: int = 0
    ppid: int = 0
    user: str = ""
    name: str = ""
    role: int = 0
    cognitive_tier: int = _OPERATIONAL
    model: str = ""
    state: int = 0
    vps: str = ""
    tokens_consumed: int = 0
    context_usage_percent: float = 0.0
    child_count: int = 0
    started_at: int = 0
    current_task_id: str = ""
    runtime_addr: str = ""

    @classmethod
    def of(cls, info: AgentInfo) -> ProcessInfo:
        return cls(
            pid=info.pid,
            ppid=info.parent,
            user=user_name(info.uid),
            name=info.name,
            role=role_number(info.role),
            state=state_number(info.state),
            vps=socket.gethostname(),
            child_count=info.children,
            started_at=info.started_unix_ns // 1_000_000_000,
            runtime_addr=f"process:{info.os_pid}" if info.os_pid else "",
        )
