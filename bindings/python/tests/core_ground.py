"""Agents of the extension alone, for the tests of it.

They are Any, since the tests call them in ways that a type checker refuses, and the checker does
not know that a message is a buffer.
"""

from __future__ import annotations

from typing import Any

from beeline import _core

SECOND = 10**9
FOREVER = 2**63 - 1


class Message(_core.Message):
    """As the classes of the package, it can be the message of a context."""

    __slots__ = ("__weakref__",)


TYPES: Any = (_core.Agent, Message, _core.Loan, _core.TaskRun)


def attach(name: str = "", **options: Any) -> Any:
    return _core.attach(*TYPES, name=name, **options)


def pair(**options: Any) -> tuple[Any, Any, Any]:
    """A sender, a receiver, and the receiver as the sender's peer."""
    a, b = attach("a", **options), attach("b", **options)
    return a, b, a.find_peer("b")


def receive(agent: Any, **options: Any) -> Any:
    return agent._receive(10, **options)
