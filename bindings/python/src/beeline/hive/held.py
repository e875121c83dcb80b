"""A message that this agent has in hand."""

from __future__ import annotations

from dataclasses import dataclass, field

from beeline import aio
from beeline.hive.types import Message


@dataclass(eq=False)
class Held:
    """The lease of the engine, and the message of this face that was made of it."""

    lease: aio.Message
    letter: Message
    answered: bool = False
    # The sender, and the texts by which an answer to it may name this message.
    keys: list[tuple[int, str]] = field(init=False)

    def __post_init__(self) -> None:
        letter = self.letter
        self.keys = [(letter.from_pid, letter.message_id)]
        if letter.reply_to:
            self.keys.append((letter.from_pid, letter.reply_to))
