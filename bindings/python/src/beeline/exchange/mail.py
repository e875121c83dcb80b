"""Mail: an envelope with a content, from one entity to another or to all."""

import copy
from typing import Any
from uuid import UUID

from . import codec
from .element import Element, as_uuid
from .errors import ValidationError

# A copy of a value of these types would be the value itself.
_CONSTANT = (str, bytes, int, float, bool, type(None), UUID)


def _as_channel(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValidationError(f"channel is a text or None, not {type(value).__name__}")
    return value


class Mail(Element):
    """A message of an entity. `recipient` None is a broadcast."""

    __slots__ = ("_sender", "_recipient", "_channel", "content")
    LION_CLASS = "lionpride.session.mail.mail.Mail"

    def __init__(
        self,
        sender: Any = None,
        recipient: Any = None,
        content: Any = None,
        channel: str | None = None,
        **data: Any,
    ) -> None:
        super().__init__(**data)
        if sender is None:
            raise ValidationError("a mail needs a sender")
        self._sender = as_uuid(sender)
        self._recipient = None if recipient is None else as_uuid(recipient)
        self._channel = _as_channel(channel)
        self.content = content

    @property
    def sender(self) -> UUID:
        return self._sender

    @sender.setter
    def sender(self, value: Any) -> None:
        self._sender = as_uuid(value)

    @property
    def recipient(self) -> UUID | None:
        return self._recipient

    @recipient.setter
    def recipient(self, value: Any) -> None:
        self._recipient = None if value is None else as_uuid(value)

    @property
    def channel(self) -> str | None:
        return self._channel

    @channel.setter
    def channel(self, value: str | None) -> None:
        self._channel = _as_channel(value)

    @property
    def is_broadcast(self) -> bool:
        return self._recipient is None

    @property
    def is_direct(self) -> bool:
        return self._recipient is not None

    def duplicate(self) -> "Mail":
        """A mail of the same id, whose content changes without this one's where that can be."""
        made = object.__new__(type(self))
        made._id, made._created_at = self._id, self._created_at
        made._sender, made._recipient = self._sender, self._recipient
        made._channel, made.content = self._channel, self.content
        made.metadata = dict(self.metadata)
        try:
            if type(self.content) not in _CONSTANT:
                made.content = copy.deepcopy(self.content)
            if made.metadata:
                made.metadata = copy.deepcopy(self.metadata)
        except Exception:
            pass  # a lock or a socket, for example: both mails have the same one
        return made

    def _fields(self, mode: str) -> dict[str, Any]:
        if mode == "python":
            sender, recipient, content = self._sender, self._recipient, self.content
            return {"sender": sender, "recipient": recipient, "content": content,
                    "channel": self._channel}
        recipient_text = None if self._recipient is None else str(self._recipient)
        return {"sender": str(self._sender), "recipient": recipient_text,
                "content": codec.to_plain(self.content), "channel": self._channel}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> "Mail":
        return cls(**fields | {"content": codec.from_plain(fields.get("content"))})

    def __repr__(self) -> str:
        to = "broadcast" if self._recipient is None else str(self._recipient)[:8]
        channel = "" if self._channel is None else f", channel={self._channel}"
        return f"Mail({str(self._sender)[:8]} -> {to}{channel})"

    def __str__(self) -> str:
        own = {"id": self._id, "created_at": self._created_at, "metadata": self.metadata}
        return " ".join(f"{key}={value!r}" for key, value in (own | self._fields("python")).items())
