"""Messages of the engine become messages of this face here, and the other way round."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from beeline import _core, aio
from beeline._errors import BeelineError, NoAgent, PeerDead, Unanswered
from beeline._types import MessageId
from beeline.hive import envelope
from beeline.hive.held import Held
from beeline.hive.recent import Recent
from beeline.hive.request_id import is_named_by_sender, number_of, text_of
from beeline.hive.types import Message
from beeline.hive.words import RELATIONS, priority_of, rank_of

# As a number, without the enumeration of the public package.
_relation_of = _core.Message.relation.__get__
_PATIENCE = 10.0  # seconds that a send waits for room
_MOST_NAMES = 4096


@dataclass
class _Question:
    """A request. It has no id and no answer before it was sent."""

    number: int
    patience: float
    to_pid: int = 0
    id: int = 0
    answer: asyncio.Future[aio.Message] | None = None


class Post:
    """The messages of one agent: those in hand, and the texts that name messages."""

    def __init__(self, agent: aio.Agent) -> None:
        self._agent = agent
        self._questions: dict[str, _Question] = {}
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
            relation=RELATIONS[_relation_of(lease)],
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
        for key in held.keys:
            self._held[key] = held
        return held

    def let_go(self, held: Held) -> None:
        for key in held.keys:
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

    def put_back(self) -> None:
        """Gives back the messages that the agent has kept; this costs them no attempt."""
        for held in self._held.values():
            if held.lease.held:
                held.lease.put_back()
        self._held.clear()

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
        question = self._questions.get(reply_to)
        number = number_of(reply_to) if question is None else question.number
        try:
            if reply_to and not number:
                number = self._their_names.get((to_pid, reply_to)) or 0
                payload = envelope.wrap(reply_to, payload)
                options["channel"] = envelope.CHANNEL
            held = self._held.get((to_pid, reply_to)) if reply_to else None
            if held is not None and held.lease.held:
                return await self._answer(held, payload, options)
            if question is not None and question.answer is None:
                return await self._ask(question, to_pid, payload, options)
            id = await self._agent.send(
                to_pid, payload, reply_to=number, timeout=_PATIENCE, **options
            )
        except (BeelineError, TimeoutError, ValueError, TypeError, OverflowError) as error:
            raise RuntimeError(f"send failed: {_reason(error, to_pid)}") from error
        if reply_to and is_named_by_sender(number, self._agent.pid):
            self._own_names.add(id, reply_to)
        return str(id)

    async def _answer(self, held: Held, payload: bytes, options: dict[str, Any]) -> str:
        id = await held.lease.reply(payload, timeout=_PATIENCE, **options)
        held.answered = True
        if not held.lease.held:
            self.let_go(held)
        return str(id)

    async def _ask(
        self,
        question: _Question,
        to_pid: int,
        payload: bytes,
        options: dict[str, Any],
    ) -> str:
        question.to_pid = to_pid
        question.id, question.answer = await self._agent.ask(
            to_pid,
            payload,
            timeout=question.patience,
            reply_to=question.number,
            cancel_on_timeout=False,
            **options,
        )
        return str(MessageId(question.id))

    def expect(self, request_id: str, number: int, patience: float) -> None:
        """The next message with this reply_to is a request; answer() waits for its answer."""
        self._questions[request_id] = _Question(number, patience)

    async def answer(self, request_id: str, other: asyncio.Future[Message]) -> Message | None:
        """The answer to a request. None: `other` was done first, with the answer of an agent to
        which the receiver has handed the request on; or it may come later, as a message of its own.

        RuntimeError: none will come.
        """
        question = self._questions[request_id]
        if question.answer is None:
            return None  # It was sent in another way.
        await asyncio.wait((question.answer, other), return_when=asyncio.FIRST_COMPLETED)
        if not question.answer.done():
            return None
        try:
            lease = question.answer.result()
        except (Unanswered, TimeoutError):
            return None
        except BeelineError as error:
            if other.done():
                return None
            reason = _reason(error, question.to_pid)
            raise RuntimeError(f"no reply from PID {question.to_pid}: {reason}") from error
        letter = self.open(lease)
        letter.reply_to = request_id
        lease.done()
        return letter

    def forget(self, request_id: str) -> None:
        """Ends the wait for an answer. A later one may name the message or the request."""
        question = self._questions.pop(request_id)
        if question.answer is not None:
            question.answer.cancel()
        if question.id:
            self._own_names.add(question.id, request_id)


def _reason(error: BaseException, to_pid: int) -> str:
    if isinstance(error, NoAgent):
        return f"receiver PID {to_pid} not found"
    if isinstance(error, PeerDead):
        return f"receiver PID {to_pid} is dead"
    return str(error) or type(error).__name__
