"""Entity: an agent with a UUID as its name, and the leases of the mail in its mailbox."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from typing import TYPE_CHECKING
from uuid import UUID

from beeline._errors import BeelineError, ClosedError, TooBig
from beeline._types import AttachOptions, SendOptions
from beeline.aio import Message, attach_blocking
from beeline.exchange.errors import NotFoundError, ValidationError
from beeline.exchange.letter import TYPE, channel_option, mail_of
from beeline.exchange.mailbox import Mailbox
from beeline.exchange.parcel import Parcel

if TYPE_CHECKING:
    from beeline.exchange.courier import Courier

log = logging.getLogger("beeline.exchange")

_BATCH = 64
_MOST_REASON = 200
_TOO_LARGE = 1 << 50


class Entity:
    """Belongs to the thread of its agent."""

    def __init__(self, id: UUID, box: Mailbox, options: AttachOptions, courier: Courier) -> None:
        self.id = id
        self.box = box
        self.agent = attach_blocking(str(id), **options)
        self.parcels: dict[UUID, Parcel] = {}
        # Recipients that had no room for so long that no round waits for them any more.
        self.stuck: set[UUID] = set()
        # The reason why nothing comes or goes any more.
        self.ended: BeelineError | None = None
        self._leases: dict[UUID, Message] = {}
        self._courier = courier
        self._listener: asyncio.Task[None] | None = None

    # Mail that comes

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Takes mail as it comes, so that its senders have room."""
        self._listener = loop.create_task(self._listen())

    async def _listen(self) -> None:
        try:
            while True:
                self._file(await self.agent.receive())
                self.fetch()
        except BeelineError as error:
            self.ended = error
            log.warning("entity %s gets no more mail: %s", self.id, error)

    def fetch(self) -> None:
        """Puts what has come into the mailbox. After the end of the hive nothing comes."""
        messages = None
        while messages is None or len(messages) == _BATCH:
            try:
                messages = self.agent.try_receive_batch(_BATCH)
            except ClosedError:
                return
            for message in messages:
                self._file(message)

    def _file(self, message: Message) -> None:
        if message.is_control or message.is_copy:
            if message.type == "shutdown":
                self._courier.on_shutdown()
            message.done()
            return
        try:
            mail = mail_of(message, self.id)
        except ValidationError as error:
            reason = str(error)[:_MOST_REASON]  # It may cite the payload.
            log.warning("a message of %s is no mail: %s", message.sender_name, reason)
            message.reject(reason)
            return
        if "agent" in mail.metadata:
            self._courier.contact(mail.metadata["agent"])
        self.box.rename_if_taken(mail)
        if self.box.file(mail):
            self._leases[mail.id] = message
        else:
            message.done()  # The sender was killed after it had sent the mail, and sent it again.

    def finish(self, id: UUID) -> None:
        """The mail was popped: it does not come again."""
        message = self._leases.pop(id, None)
        try:
            if message is not None and message.held:
                message.done()
        except BeelineError as error:
            log.warning("entity %s may get a mail again that was popped: %s", self.id, error)

    # Mail that goes

    def largest_payload(self) -> int | None:
        """The limit of the hive, or the lower one of the options. None: the hive does not say."""
        try:
            self.agent.borrow(self.agent.pid, _TOO_LARGE).release()
        except TooBig as error:
            words = re.search(r"limit (?:of the hive )?is (\d+)", str(error))
            return int(words[1]) if words else None
        except BeelineError as error:
            log.warning("entity %s does not learn the limit of the hive: %s", self.id, error)
        return None

    def take(self) -> list[Parcel]:
        """Empties the outbox, where mail may be that send() has not put there."""
        mails = self.box.take_outbox()
        return [self.parcels.pop(m.id) if m.id in self.parcels else Parcel(m) for m in mails]

    def offer(self, parcel: Parcel, to: str) -> None:
        """Sends now. LookupError: there is no link yet; Full: there is no room."""
        options = self._options(parcel)
        self.agent.send_nowait(to, parcel.body or b"", **options)

    async def send(self, parcel: Parcel, to: str, timeout: float) -> None:
        """Sends, and opens the link and waits for room where that is needed."""
        options = self._options(parcel)
        await self.agent.send(to, parcel.body or b"", timeout=timeout, **options)

    def _options(self, parcel: Parcel) -> SendOptions:
        if parcel.body is None:
            parcel.body = self._courier.body_of(parcel.mail)
        return {"type": TYPE, "channel": channel_option(parcel.mail), "inherit": False}

    def settle(self, parcels: list[Parcel]) -> None:
        """Puts those that wait for room into the outbox again, and forgets the others."""
        waiting = [parcel for parcel in parcels if parcel.waits]
        self.parcels |= {parcel.mail.id: parcel for parcel in waiting}
        self.box.give_back([parcel.mail for parcel in waiting])

    # The end

    async def leave(self) -> None:
        """Leaves the hive. Mail that was not popped leaves the mailbox and comes again."""
        self._stop_listening()
        for id, message in tuple(self._leases.items()):
            try:
                self.box.remove_item(id)
            except NotFoundError:
                self.finish(id)  # Another thread has popped it, and its own call of finish() waits.
            else:
                with contextlib.suppress(ClosedError):
                    message.put_back()
        self._leases.clear()
        await self.agent.detach()

    def forget(self, options: AttachOptions) -> None:
        """Leaves the hive for good. All mail that has come is in the mailbox then."""
        self._stop_listening()
        self.fetch()
        self._let_go()
        # The last life of the agent is a temporary one: the hive forgets it.
        last = options.copy()
        last["temporary"] = True
        try:
            self.agent = attach_blocking(str(self.id), **last)
        except (BeelineError, TimeoutError) as error:
            log.warning("the hive has not forgotten entity %s: %s", self.id, error)
            return
        self.fetch()
        self._let_go()

    def _let_go(self) -> None:
        for id in tuple(self._leases):
            self.finish(id)
        self.agent._close(force=True)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
