"""Exchange: routes mail between the mailboxes of entities."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from beeline._errors import WrongLoop

from .element import Element, as_uuid
from .errors import ValidationError
from .flow import Flow
from .mail import Mail
from .mailbox import Mailbox
from .pile import Pile

if TYPE_CHECKING:
    from typing import Unpack

    from beeline._types import AttachOptions

    from .courier import Courier

_log = logging.getLogger("beeline.exchange")

# sync() lets other tasks of the loop run each time after so many mails.
_BREATH = 1000
_TEXT_OWNER = "owner_is_text"


class Exchange(Element):
    """Safe from several threads and event loops.

    It works inside its process. After attach() it carries the mail through a hive, so that an
    entity may be registered in any process of it."""

    __slots__ = ("flows", "_boxes", "_lock", "_stopped", "_courier")
    LION_CLASS = "lionpride.session.mail.exchange.Exchange"

    def __init__(self, flows: Iterable[Flow[Mail]] | None = None, **data: Any) -> None:
        super().__init__(**data)
        self.flows: Pile[Flow[Mail]] = Pile()
        self._boxes: dict[Any, Mailbox] = {}
        self._lock = threading.RLock()
        self._stopped = False
        self._courier: Courier | None = None
        for flow in flows or ():
            self._add(_owner_of(flow), flow)

    def _add(self, owner_id: Any, flow: Flow[Mail]) -> Mailbox:
        if not isinstance(flow, Mailbox):
            flow = Mailbox(flow.name, flow.items, flow.progressions,
                           id=flow.id, created_at=flow.created_at, metadata=flow.metadata)
        with self._lock:
            if owner_id in self._boxes:
                raise ValueError(f"Owner {owner_id} already registered")
            self._boxes[owner_id] = flow
            self.flows.add(flow)
        return flow

    # The hive

    async def attach(self, *, patience: float = 0.1, **options: Unpack[AttachOptions]) -> None:
        """Joins a hive: each entity, now and from now on, becomes an agent named by its UUID.

        Mail that a process of the entity had not popped when it ended comes again. sync() waits up
        to `patience` seconds for recipients without room, and their mail stays in the outbox. The
        options are those of beeline.attach(), without a name.
        """
        from .courier import Courier

        if self._courier is not None:
            raise RuntimeError("the exchange has joined a hive already; detach() first")
        courier = Courier(self.stop, patience, options)
        try:
            for owner_id, box in tuple(self._boxes.items()):
                courier.add(owner_id, box)
        except BaseException:
            await courier.close()
            raise
        self._courier = courier

    async def detach(self) -> None:
        """Leaves the hive. Mail that was not popped leaves the mailboxes: it comes again when its
        entity is registered in the hive once more."""
        courier, self._courier = self._courier, None
        if courier is not None:
            try:
                await courier.close()
            except WrongLoop:
                self._courier = courier
                raise

    async def __aenter__(self) -> Exchange:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.stop()
        await self.detach()

    def contact(self, name: str) -> UUID:
        """The UUID under which an agent of the hive that is no entity sends and receives mail."""
        if self._courier is None:
            raise RuntimeError("the exchange has joined no hive; call attach() first")
        return self._courier.contact(name)

    # Registration

    def register(self, owner_id: Hashable) -> Mailbox:
        """The new mailbox of an entity. In a hive it waits for the coordinator, and the mailbox has
        what an earlier process of the entity had not popped."""
        box = Mailbox(str(owner_id))
        if isinstance(owner_id, str):
            box.metadata[_TEXT_OWNER] = True
        self._add(owner_id, box)
        if self._courier is not None:
            try:
                self._courier.add(owner_id, box)
            except BaseException:
                self._remove(owner_id)
                raise
        return box

    def unregister(self, owner_id: Hashable) -> Mailbox | None:
        """The removed mailbox, which keeps its mail. The hive forgets the entity."""
        box = self._remove(owner_id)
        if box is not None:
            if self._courier is not None:
                try:
                    self._courier.remove(owner_id)
                except (TimeoutError, WrongLoop):  # Its thread is busy: all is as before.
                    self._add(owner_id, box)
                    raise
            box.close()
        return box

    def _remove(self, owner_id: Hashable) -> Mailbox | None:
        with self._lock:
            box = self._boxes.pop(owner_id, None)
            if box is not None:
                self.flows.remove(box)
        return box

    def get(self, owner_id: Hashable) -> Mailbox | None:
        return self._boxes.get(owner_id)

    def has(self, owner_id: Hashable) -> bool:
        return owner_id in self._boxes

    @property
    def owner_ids(self) -> list[Any]:
        with self._lock:
            return list(self._boxes)

    def __contains__(self, owner_id: Hashable) -> bool:
        return owner_id in self._boxes

    def __len__(self) -> int:
        return len(self._boxes)

    # Mail

    def send(
        self, sender: Any, recipient: Any, content: Any = None, channel: str | None = None
    ) -> Mail:
        """Puts a mail into the outbox of `sender`. sync() or collect() deliver it. For
        another process the content has to be JSON, with bytes, UUIDs and times: ValidationError;
        and it is written here, so that later changes do not travel."""
        box = self._boxes.get(sender)
        if box is None:
            raise ValueError(f"Sender {sender} not registered")
        mail = Mail(sender, recipient, content, channel)
        if self._courier is not None:
            self._courier.seal(sender, mail)
        box.post(mail)
        return mail

    def receive(self, owner_id: Hashable, sender: Any = None) -> list[Mail]:
        """The mail that was delivered to an entity, of all senders or of one. Takes nothing."""
        box = self._boxes.get(owner_id)
        if box is None:
            return []
        if self._courier is not None:
            self._courier.fetch(owner_id)
        return box.read(sender)

    def pop_mail(self, owner_id: Hashable, sender: Any) -> Mail | None:
        """The oldest mail of a sender, which leaves the mailbox."""
        box = self._boxes.get(owner_id)
        if box is None:
            return None
        mail = box.pop(sender)
        if self._courier is not None:
            if mail is None:
                self._courier.fetch(owner_id)
                mail = box.pop(sender)
            if mail is not None:
                self._courier.finish(owner_id, mail)
        return mail

    # Delivery

    async def collect(self, owner_id: Hashable) -> int:
        """Delivers the mail of an outbox. Returns how many mails reached a recipient."""
        box = self._boxes.get(owner_id)
        if box is None:
            raise ValueError(f"Owner {owner_id} not registered")
        if self._courier is not None:
            return await self._courier.collect([owner_id])
        return self._collect(box)[1]

    async def collect_all(self) -> int:
        if self._courier is not None:
            return await self._courier.collect(self.owner_ids)
        total = since_breath = 0
        for owner_id in self.owner_ids:
            box = self._boxes.get(owner_id)
            if box is None:
                continue
            taken, delivered = self._collect(box)
            total += delivered
            since_breath += taken
            if since_breath >= _BREATH:
                since_breath = 0
                await asyncio.sleep(0)
        return total

    async def sync(self) -> int:
        """Delivers the mail of all outboxes. Returns how many mails reached a recipient."""
        return await self.collect_all()

    async def run(self, interval: float = 1.0) -> None:
        """Calls sync() at once and then every `interval` seconds, until stop()."""
        self._stopped = False
        while not self._stopped:
            await self.sync()
            await asyncio.sleep(interval)

    def stop(self) -> None:
        """Ends run() after its current sleep."""
        self._stopped = True

    def _collect(self, box: Mailbox) -> tuple[int, int]:
        """How many mails left the outbox, and how many of them reached a recipient."""
        with box.turn:
            mails = box.take_outbox()
            taken = delivered = 0
            try:
                for mail in mails:
                    delivered += self._deliver(box, mail)
                    taken += 1
            finally:
                if taken < len(mails):  # Ctrl-C, for example, while a content was copied.
                    box.give_back(mails[taken:])
            return taken, delivered

    def _deliver(self, box: Mailbox, mail: Mail) -> bool:
        if mail._recipient is not None:
            target = self._boxes.get(mail._recipient)
            if target is not None and target.file(mail):
                return True
            _log.warning("%r is dropped: its recipient is not registered, or has it", mail)
            return False
        with self._lock:
            targets = [target for target in self._boxes.values() if target is not box]
        return sum(target.file(mail.duplicate()) for target in targets) > 0

    # Dictionaries and JSON

    def _fields(self, mode: str) -> dict[str, Any]:
        return {"flows": self.flows.to_dict(mode)}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> "Exchange":
        flows = fields.pop("flows", None)
        return cls(Pile.from_dict(flows) if flows else None, **fields)

    def __repr__(self) -> str:
        with self._lock:
            pending = sum(len(box.outbox) for box in self._boxes.values())
        return f"Exchange(entities={len(self)}, pending_out={pending})"


def _owner_of(flow: Flow[Mail]) -> Any:
    """The owner for which register() made a flow."""
    if not isinstance(flow, Flow) or flow.name is None:
        raise ValidationError(f"a flow of an exchange bears the name of its owner: {flow!r}")
    return flow.name if flow.metadata.get(_TEXT_OWNER) else as_uuid(flow.name)
