"""Words of this face, and the numbers of the engine for them."""

from __future__ import annotations

from beeline._types import State

ROLES = ("kernel", "daemon", "agent", "architect", "lead", "worker", "task")
PRIORITIES = ("critical", "high", "normal", "low")
RELATIONS = ("system", "parent", "child", "sibling", "other")
_NORMAL = PRIORITIES.index("normal")
_TASK = ROLES.index("task")
# Here a dead agent has a lower number than a zombie; in the engine it is the other way round.
_STATE_NUMBERS = {State.ZOMBIE: 5, State.DEAD: 4}


def rank_of(priority: str) -> int:
    """The rank for a priority; an unknown word means normal."""
    return PRIORITIES.index(priority) if priority in PRIORITIES else _NORMAL


def priority_of(rank: int) -> str:
    """The word for a rank. An inbox that does not age has ranks beyond the four."""
    return PRIORITIES[min(max(rank, 0), len(PRIORITIES) - 1)]


def role_number(role: str) -> int:
    """The number of a role; an unknown word means task."""
    return ROLES.index(role) if role in ROLES else _TASK


def state_number(state: State) -> int:
    """0 idle, 1 running, 2 blocked, 3 sleeping, 4 dead, 5 zombie."""
    return _STATE_NUMBERS.get(state, int(state))
