"""Answers questions about the tree from a list of all agents."""

from __future__ import annotations

import os
from collections.abc import Iterable

from beeline._errors import NoAgent
from beeline._types import AgentInfo, Group, State


def siblings_of(agents: Iterable[AgentInfo], pid: int, parent: int) -> list[AgentInfo]:
    return [agent for agent in agents if agent.parent == parent and agent.pid != pid]


def children_of(agents: list[AgentInfo], pid: int, recursive: bool) -> list[AgentInfo]:
    if not recursive:
        return [agent for agent in agents if agent.parent == pid]
    below, news = {pid}, {pid}
    while news:
        news = {agent.pid for agent in agents if agent.parent in news} - below
        below |= news
    return [agent for agent in agents if agent.pid in below and agent.pid != pid]


def members_of(agents: list[AgentInfo], pid: int, group: Group) -> list[AgentInfo]:
    """The agents of a group that may take a message of `pid`."""
    if group == Group.CHILDREN or group == Group.SUBTREE:
        members = children_of(agents, pid, group == Group.SUBTREE)
    else:
        members = [agent for agent in agents if group == Group.ALL or agent.role == group.role]
    return [a for a in members if a.pid not in (1, pid) and a.state != State.DEAD]


def find_named(agents: Iterable[AgentInfo], name: str) -> AgentInfo:
    """The agent that a name, or a pid in decimal, means: see docs/mailbox.md."""
    found: list[tuple[bool, bool, int, AgentInfo]] = []
    for agent in agents:
        exact = agent.pid == int(name) if name.isdecimal() else agent.name == name
        is_own = agent.uid == os.geteuid() and not name.isdecimal()
        if exact or is_own and agent.name.partition("@")[0] == name:
            found.append((agent.state != State.DEAD, exact, agent.pid, agent))
    if not found:
        raise NoAgent(f"no agent is named {name!r}; `beeline tree` shows all agents")
    return max(found, key=lambda match: match[:3])[3]
