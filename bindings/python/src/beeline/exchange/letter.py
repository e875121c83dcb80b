"""Mail on its way between processes: a message of type `mail`, whose payload is JSON."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from beeline.exchange import codec
from beeline.exchange.errors import ValidationError
from beeline.exchange.mail import Mail

if TYPE_CHECKING:
    from beeline.aio import Message

TYPE = "mail"
_MOST_CHANNEL_BYTES = 31
_FIELDS = frozenset(("id", "created_at", "channel", "content", "metadata", "broadcast"))
_WRITTEN_HERE = ("agent", "type", "redelivered", "id")
# Agents that are no entities have names; an exchange knows them by a UUID of the name.
_NAMES = UUID("8d6f5c1e-0d5b-4c1a-9d0e-6f2b7a3c9e41")


@lru_cache(maxsize=4096)
def id_of_name(name: str) -> UUID:
    """The UUID that means the agent of this name: an entity has it as its name."""
    try:
        found = UUID(name)
    except ValueError:
        return uuid5(_NAMES, name)
    return found if str(found) == name else uuid5(_NAMES, name)


@lru_cache(maxsize=4096)
def is_entity(name: str) -> bool:
    """True if an agent of this name is an entity."""
    return str(id_of_name(name)) == name


def channel_option(mail: Mail) -> str:
    """The channel as the message can have it; empty where the payload has to carry it."""
    channel = mail.channel or ""
    return channel if len(channel.encode(errors="replace")) <= _MOST_CHANNEL_BYTES else ""


def body_for_entity(mail: Mail) -> bytes:
    """The payload for an entity. ValidationError if the content is no JSON."""
    head: dict[str, Any] = {"id": str(mail.id), "created_at": mail.created_at.isoformat()}
    if mail.is_broadcast:
        head["broadcast"] = True
    if mail.channel is not None and not channel_option(mail):
        head["channel"] = mail.channel
    metadata = f',"metadata":{codec.encode(mail.metadata)}' if mail.metadata else ""
    return _utf8(f'{codec.dumps(head)[:-1]}{metadata},"content":{codec.encode(mail.content)}}}')


def body_for_agent(mail: Mail) -> bytes:
    """The payload for an agent that is no entity: a text and bytes as they are, else JSON."""
    content = mail.content
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    return _utf8(content if isinstance(content, str) else codec.encode(content))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValidationError(f"the content is no text: {error}") from None


def mail_of(message: Message, owner: UUID) -> Mail:
    """The mail that a message is for its receiver. ValidationError if it is none.

    The hive vouches for the sender; the payload cannot name another one.
    """
    fields = _fields(message)
    fields.setdefault("channel", message.channel or None)
    recipient = None if fields.pop("broadcast", False) is True else owner
    mail = Mail(id_of_name(message.sender_name), recipient, **fields)
    # The exchange of the receiver writes these, and no sender can.
    for key in _WRITTEN_HERE:
        mail.metadata.pop(key, None)
    if message.type != TYPE:
        mail.metadata["type"] = message.type
    if not is_entity(message.sender_name):
        mail.metadata["agent"] = message.sender_name
    if message.redelivered:
        mail.metadata["redelivered"] = True
    return mail


def _fields(message: Message) -> dict[str, Any]:
    payload = message.copy()
    try:
        content: Any = payload.decode()
    except UnicodeDecodeError:
        content = payload
    if message.type != TYPE:
        return {"content": content}
    body = codec.loads(content)
    if not isinstance(body, dict) or "content" not in body:
        raise ValidationError("a mail is a dictionary with a content")
    fields = {key: value for key, value in body.items() if key in _FIELDS and value is not None}
    fields["content"] = codec.from_plain(body["content"])
    fields["metadata"] = codec.from_plain(body.get("metadata"))
    return fields
