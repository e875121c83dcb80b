"""Messages of the engine become messages of this face here, and the other way round."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from beeline import aio
from beeline._errors import BeelineError, NoAgent, SendError, Unanswered
from beeline.hive import envelope
from beeline.hive.held import Held
from beeline.hive.recent import Recent
from beeline.hive.request_id import number_of, text_of
from beeline.hive.types import Message
from beeline.hive.words import RELATIONS, priority_of, rank_of

_PATIENCE = 10.0  # seconds that a send waits for room
_MOST_NAMES = 4096

Answered = Callable[[str, "Message | Exception"], None]


class Post:
    """The messages of one agent: those in hand, and the texts that name messages.

    `questions` has the requests that are about to be sent, with the seconds of their patience.
    `answered` is called with the answer to each of them, or with the reason why there is none.
    """

    def __init__(self, agent: aio.Agent, answered: Answered) -> None:
        self._agent = agent
        self._answered = answered
        self.questions: dict[str, float] = {}
        self._held: dict[tuple[int, str], Held] = {}
        # The texts that this agent chose for its messages, and those that others chose for theirs.
        self._own_names: Recent[int, str] = Recent(_MOST_NAMES)
        self._their_names: Recent[tuple[int, str], int] = Recent(_MOST_NAMES)

    def open(self, lease: aio.Message) -> Message:
        """The message of this face."""
        number = lease.reply_to
        reply_to = (self._own_names.get(number) or text_of(number)) if number else ""
        payload = lease.copy()
        if lease.channel == envelope.CHANNEL:
            try:
                reply_to, payload = envelope.unwrap(payload)
            except ValueError:
                pass  # Another program uses this channel for something else.
            else:
                self._their_names.add((lease.sender, reply_to), lease.id)
        return Message(
            message_id=str(lease.id),
            from_pid=lease.sender,
            from_name=lease.sender_name,
            relation=RELATIONS[lease.relation],
            type=lease.type,
            priority=priority_of(lease.rank),
            payload=payload,
            timestamp=int(lease.sent_at * 1000),
            requires_ack=lease.requires_ack,
            reply_to=reply_to,
        )

    def hold(self, lease: aio.Message) -> Held:
        """Notes a message that is being handled, so that an answer finds it."""
        held = Held(lease, self.open(lease))
        for key in held.keys():
            self._held[key] = held
        return held

    def let_go(self, held: Held) -> None:
        for key in held.keys():
            if self._held.get(key) is held:
                del self._held[key]

    def finish(self, letter: Message) -> bool:
        """Ends a message that the agent has kept. False: it is not in hand."""
        held = self._held.get((letter.from_pid, letter.message_id))
        if held is None or not held.lease.held:
            return False
        self.let_go(held)
        held.lease.done()
        return True

    async def send(
        self,
        to_pid: int,
        payload: bytes,
        *,
        type: str,
        priority: str,
        requires_ack: bool,
        ttl: float,
        reply_to: str,
    ) -> str:
        """Sends, as an answer to a message in hand if there is one. RuntimeError: it cannot."""
        options: dict[str, Any] = {
            "type": type,
            "rank": rank_of(priority),
            "ttl": ttl or None,
            "requires_ack": requires_ack,
        }
        number = number_of(reply_to)
        if reply_to and not number:
            number = self._their_names.get((to_pid, reply_to)) or 0
            payload = envelope.wrap(reply_to, payload)
            options["channel"] = envelope.CHANNEL
        try:
            held = self._held.get((to_pid, reply_to)) if reply_to else None
            if held is not None and held.lease.held:
                return await self._answer(held, payload, options)
            if reply_to in self.questions:
                return await self._ask(to_pid, payload, reply_to, number, options)
            id = await self._agent.send(
                to_pid, payload, reply_to=number, timeout=_PATIENCE, **options
            )
        except (BeelineError, TimeoutError, ValueError, TypeError, OverflowError) as error:
            raise RuntimeError(f"send failed: {_reason(error, to_pid)}") from error
        if reply_to:
            self._own_names.add(id, reply_to)
        return str(id)

    async def _answer(self, held: Held, payload: bytes, options: dict[str, Any]) -> str:
        id = await held.lease.reply(payload, timeout=_PATIENCE, **options)
        held.answered = True
        if not held.lease.held:
            self.let_go(held)
        return str(id)

    async def _ask(
        self, to_pid: int, payload: bytes, request_id: str, number: int, options: dict[str, Any]
    ) -> str:
        patience = self.questions.pop(request_id)
        id, answer = await self._agent.ask(
            to_pid,
            payload,
            timeout=patience,
            reply_to=number,
            cancel_on_timeout=False,
            **options,
        )
        answer.add_done_callback(partial(self._conclude, to_pid, request_id, id))
        return str(id)

    def _conclude(
        self, to_pid: int, request_id: str, id: int, answer: asyncio.Future[aio.Message]
    ) -> None:
        if answer.cancelled():
            return
        error = answer.exception()
        if error is None:
            lease = answer.result()
            letter = self.open(lease)
            letter.reply_to = request_id
            lease.done()
            self._answered(request_id, letter)
        elif isinstance(error, (Unanswered, TimeoutError)):
            # The receiver may answer later, and may name the message in place of the request.
            self._own_names.add(id, request_id)
        else:
            reason = f"no reply from PID {to_pid}: {_reason(error, to_pid)}"
            self._answered(request_id, RuntimeError(reason))


def _reason(error: BaseException, to_pid: int) -> str:
    if isinstance(error, NoAgent):
        return f"receiver PID {to_pid} not found"
    return str(error) or type(error).__name__
