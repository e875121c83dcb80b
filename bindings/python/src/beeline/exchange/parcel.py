"""Parcel: a mail on its way to other agents."""

from __future__ import annotations

from uuid import UUID

from beeline.exchange.mail import Mail


class Parcel:
    """`body` is the payload: None as long as no other process needs it. `targets` are the
    recipients that still have to get the mail: None before the first one was offered it. `counted`:
    one recipient has it."""

    __slots__ = ("mail", "body", "targets", "counted")

    def __init__(self, mail: Mail, body: bytes | None = None) -> None:
        self.mail = mail
        self.body = body
        self.targets: list[UUID] | None = None
        self.counted = False

    @property
    def waits(self) -> bool:
        """True while a recipient still has to get it."""
        return self.targets is None or bool(self.targets)
