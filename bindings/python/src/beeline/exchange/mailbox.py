"""Mailbox: the Flow of one entity, with its outbox and an inbox for each sender."""

import threading
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID, uuid4

from .flow import Flow
from .mail import Mail
from .progression import Progression

OUTBOX = "outbox"
INBOX = "inbox_"


class Mailbox(Flow[Mail]):
    """Each method takes the lock of the Flow, and calls nothing of a program while it holds it."""

    __slots__ = ("turn", "_inboxes", "_closed")
    LION_CLASS = "beeline.exchange.Mailbox"

    def __init__(
        self,
        name: str | None = None,
        items: Iterable[Mail] = (),
        progressions: Iterable[Progression] = (),
        **data: Any,
    ) -> None:
        super().__init__(name, items, progressions, item_type=Mail, **data)
        # Held while the outbox is collected: two collections at once would mix the order.
        self.turn = threading.RLock()
        self._inboxes: dict[UUID, Progression] = {}
        self._closed = False
        if OUTBOX not in self._by_name:
            self.add_progression(Progression(name=OUTBOX, lock=self.lock))
        for progression in self.progressions:
            if progression.name is not None and progression.name.startswith(INBOX):
                self._inboxes[UUID(progression.name[len(INBOX):])] = progression

    @property
    def outbox(self) -> Progression:
        return self._by_name[OUTBOX]

    @property
    def inboxes(self) -> dict[UUID, Progression]:
        """The inboxes by their senders, in the order in which their first mail came."""
        with self.lock:
            return dict(self._inboxes)

    def post(self, mail: Mail) -> None:
        """Puts a mail of the entity into the outbox."""
        with self.lock:
            self.items.add(mail)
            self._by_name[OUTBOX].order.append(mail._id)

    def take_outbox(self) -> list[Mail]:
        with self.lock:
            order, by_id = self._by_name[OUTBOX].order, self.items.by_id
            taken = [mail for mail in (by_id.pop(id, None) for id in order) if mail is not None]
            order.clear()
            return taken

    def give_back(self, mails: Sequence[Mail]) -> None:
        """Puts mail that take_outbox() has given in front of the outbox again."""
        with self.lock:
            for mail in mails:
                self.items.by_id[mail._id] = mail
            self._by_name[OUTBOX].order.extendleft(mail._id for mail in reversed(mails))

    def file(self, mail: Mail) -> bool:
        """Puts a mail into the inbox of its sender. False: the box has it, or is closed."""
        with self.lock:
            by_id = self.items.by_id
            if self._closed or mail._id in by_id:
                return False
            inbox = self._inboxes.get(mail._sender)
            if inbox is None:
                inbox = Progression(name=f"{INBOX}{mail._sender}", lock=self.lock)
                self.add_progression(inbox)
                self._inboxes[mail._sender] = inbox
            by_id[mail._id] = mail
            inbox.order.append(mail._id)
            return True

    def read(self, sender: UUID | None = None) -> list[Mail]:
        """The mail that was filed, of all senders or of one. Takes nothing."""
        with self.lock:
            by_id = self.items.by_id
            inboxes = self._inboxes.values() if sender is None else [self._inboxes.get(sender)]
            return [by_id[id] for inbox in inboxes if inbox is not None for id in inbox.order
                    if id in by_id]

    def pop(self, sender: UUID) -> Mail | None:
        """The oldest mail of a sender, which leaves the box."""
        with self.lock:
            inbox = self._inboxes.get(sender)
            while inbox is not None and inbox.order:
                mail = self.items.by_id.pop(inbox.order.popleft(), None)
                if mail is not None:
                    return mail
            return None

    def close(self) -> None:
        """Accepts no more mail. Keeps what it has."""
        with self.lock:
            self._closed = True

    def rename_if_taken(self, mail: Mail) -> None:
        """Gives a mail a new id if a mail of another sender has its id in this box."""
        with self.lock:
            other = self.items.by_id.get(mail._id)
            if other is not None and other._sender != mail._sender:
                mail.metadata["id"] = str(mail._id)
                mail._id = uuid4()
