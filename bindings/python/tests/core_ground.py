"""Agents of the extension alone, for the tests of it.

They are Any, since the tests call them in ways that a type checker refuses, and the checker does
not know that a message is a buffer.
"""

from __future__ import annotations

from typing import Any

from beeline import _core

SECOND = 10**9
FOREVER = 2**63 - 1
TYPES: Any = (_core.Agent, _core.Message, _core.Loan, _core.TaskRun)


def attach(name: str = "", **options: Any) -> Any:
    return _core.attach(*TYPES, name=name, **options)


def pair(**options: Any) -> tuple[Any, Any, Any]:
    """A sender, a receiver, and the receiver as the sender's peer."""
    a, b = attach("a", **options), attach("b", **options)
    return a, b, a.find_peer("b")


def receive(agent: Any, **options: Any) -> Any:
    message = agent._wait_receive(10 * SECOND, **options)
    assert message is not None
    return message
