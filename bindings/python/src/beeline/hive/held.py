"""A message that this agent has in hand."""

from __future__ import annotations

from dataclasses import dataclass

from beeline import aio
from beeline.hive.types import Message


@dataclass(eq=False)
class Held:
    """The lease of the engine, and the message of this face that was made of it."""

    lease: aio.Message
    letter: Message
    answered: bool = False

    def keys(self) -> list[tuple[int, str]]:
        """The texts by which an answer to its sender may name it."""
        letter = self.letter
        names = (letter.message_id, letter.reply_to) if letter.reply_to else (letter.message_id,)
        return [(letter.from_pid, name) for name in names]
