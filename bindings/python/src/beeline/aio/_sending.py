"""All that an agent sends in asyncio, and the answers to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from beeline import _core
from beeline._base import To, acknowledgement
from beeline._core import Peer
from beeline._errors import Full, PeerDead, RateLimited, SendError
from beeline._registry import members_of
from beeline._types import (
    Acknowledgement,
    Delivery,
    Group,
    MessageId,
    Payload,
    SendOptions,
    nanoseconds,
)
from beeline.aio._links import LinkedAgent
from beeline.aio._objects import Loan, Message

if TYPE_CHECKING:
    from typing import Unpack

_send = _core.Agent.send_nowait
_MOST_OPEN = 16_384  # requests without an answer


class SendingAgent(LinkedAgent):
    """Sends, requests, acknowledgements, broadcasts and loans."""

    async def send(
        self,
        to: To,
        payload: Payload,
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> MessageId:
        """Sends, and returns the id once the message lies in the receiver's lane.

        `timeout`: None: now or never; a number: the longest wait for room. `payload` is copied,
        once. Raises the SendError that says why nothing was sent, Full for example.
        """
        self._driver.enter()
        self._inherit(options)
        known = self._known(to)
        if known is not None:
            try:
                sent = _send(self, known, payload, **options)
                self._driver.touch()
                return sent
            except (Full, RateLimited, PeerDead):
                pass  # The same again, with patience.
        return await self._patiently(
            to, timeout, lambda peer: _send(self, peer, payload, **options)
        )

    def send_nowait(  # type: ignore[override]
        self, to: To, payload: Payload, **options: Unpack[SendOptions]
    ) -> MessageId:
        """Sends now. LookupError: this agent has not spoken to that one yet; call peer() first."""
        self._inherit(options)
        sent = _send(self, self._must_know(to), payload, **options)
        self._driver.touch()
        return sent

    async def control(  # type: ignore[override]
        self,
        to: To,
        order: str,
        payload: Payload = b"",
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> MessageId:
        """Sends a control message, beeline.SHUTDOWN for example. It overtakes all others."""
        self._inherit(options)
        send = super().control
        return await self._patiently(
            to, timeout, lambda peer: send(peer, order, payload, **options)
        )

    async def cancel(  # type: ignore[override]
        self, to: To, id: int, *, timeout: float | None = None
    ) -> None:
        """Takes back a message that this agent sent.

        If the receiver has it in hand, only Message.cancelled tells.
        """
        take_back = super().cancel
        await self._patiently(to, timeout, lambda peer: take_back(peer, id))

    async def escalate(  # type: ignore[override]
        self, issue: Payload, **options: Unpack[SendOptions]
    ) -> MessageId:
        """Sends an escalation to the parent, or to the next ancestor that lives.

        If there is none, the coordinator logs it, and this call waits for that.
        """
        self._driver.enter()
        self._inherit(options)
        if self.parent > 1:
            with contextlib.suppress(SendError):
                await self.peer(self.parent)
        sent = super().escalate(issue, **options)
        self._driver.touch()
        return sent

    async def send_many(  # type: ignore[override]
        self,
        to: To,
        payloads: Sequence[Payload],
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> int:
        """Sends several messages with the same options, in order; returns how many were sent.

        It stops where there is no room, after a wait of `timeout` seconds if that is given.
        """
        self._inherit(options)
        send, rest = super().send_many, payloads

        def attempt(peer: Peer) -> int:
            nonlocal rest
            rest = rest[send(peer, rest, **options) :]
            if rest:
                raise Full("there is no room for all messages")
            return len(payloads)

        try:
            return await self._patiently(to, timeout, attempt)
        except Exception as error:
            # An error of a later message must not hide that the first ones were sent.
            if len(rest) == len(payloads) and not isinstance(error, Full):
                raise
            return len(payloads) - len(rest)

    async def ask(
        self,
        to: To,
        payload: Payload,
        *,
        timeout: float = 25.0,
        cancel_on_timeout: bool = True,
        **options: Unpack[SendOptions],
    ) -> tuple[MessageId, asyncio.Future[Message]]:
        """Sends a request; returns its id, and a future that gets the answer of request().

        To give the request up, cancel the future.
        """
        loop = self._driver.enter()
        until = loop.time() + timeout
        waiting = self._driver.answers
        if len(waiting) >= _MOST_OPEN:
            raise Full(f"{_MOST_OPEN} requests have no answer yet; wait for some of them")
        self._inherit(options)
        id = await self._patiently(
            to,
            timeout,
            lambda peer: self.request_start(
                peer,
                payload,
                nanoseconds(until - loop.time()),
                cancel_on_timeout=cancel_on_timeout,
                **options,
            ),
        )
        answer: asyncio.Future[Message] = loop.create_future()
        waiting[id] = answer

        def give_up(answer: asyncio.Future[Message]) -> None:
            if answer.cancelled() and id in waiting:
                del waiting[id]
                self.forget(id)
                self._driver.touch()

        answer.add_done_callback(give_up)
        return id, answer

    async def request(
        self,
        to: To,
        payload: Payload,
        *,
        timeout: float = 25.0,
        cancel_on_timeout: bool = True,
        **options: Unpack[SendOptions],
    ) -> Message:
        """Sends, and waits for the answer, which is a message to be ended.

        Errors: TimeoutError, Unanswered, Rejected, PeerDead, PeerDeadTaken, and those of a send.
        `cancel_on_timeout`: when the wait ends without an answer, also by cancellation of this
        coroutine, the message is taken back.
        """
        _, answer = await self.ask(
            to, payload, timeout=timeout, cancel_on_timeout=cancel_on_timeout, **options
        )
        return await answer

    async def send_acked(
        self,
        to: To,
        payload: Payload,
        *,
        timeout: float = 25.0,
        **options: Unpack[SendOptions],
    ) -> Acknowledgement:
        """Sends, and waits for the receiver's word on the message. Errors of request()."""
        self._inherit(options)
        id = await self._patiently(
            to,
            timeout,
            lambda peer: self.ack_start(peer, payload, nanoseconds(timeout), **options),
        )
        return acknowledgement(await self._driver.result(self._driver.acknowledged, id))

    async def ack(self, to: To, id: int, timeout: float = 25.0) -> Acknowledgement:
        """Waits for the receiver's word on a message that was sent with requires_ack."""
        self._driver.enter()
        peer = await self.peer(to)
        found = await self._next(
            self._driver.seekers,
            lambda: self.take_ack(peer, id),
            timeout,
            f"acknowledgement of {MessageId(id)}",
        )
        return acknowledgement(found)

    async def fire_and_forget(  # type: ignore[override]
        self,
        to: To,
        payload: Payload,
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> MessageId:
        """Sends a message whose answer results() will have."""
        self._inherit(options)
        send = super().fire_and_forget
        return await self._patiently(to, timeout, lambda peer: send(peer, payload, **options))

    async def broadcast(
        self, group: Group | str, payload: Payload, **options: Unpack[SendOptions]
    ) -> list[Delivery]:
        """Sends to each agent of a group except this one. A receiver without room gets nothing,
        and its Delivery has the error."""
        group = Group.of(group)
        members = members_of(await self._agents(), self.pid, group)
        new = [member.pid for member in members if member.pid not in self._peers]
        await asyncio.gather(*map(self.peer, new), return_exceptions=True)
        self._inherit(options)
        return self._broadcast(group, payload, options)

    async def loan(self, to: To, size: int, *, timeout: float | None = None) -> Loan:
        """Lends `size` bytes of memory in the link to a peer, to be written and sent in place."""
        return await self._patiently(to, timeout, lambda peer: self.borrow(peer, size))
