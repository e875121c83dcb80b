"""The envelope around a payload whose reply_to is a text of the user's own.

The engine's reply_to is a number. Another text travels in front of the payload, as one line of
JSON, and the channel says that it is there.
"""

from __future__ import annotations

import json
from typing import Any

CHANNEL = "hive.envelope"


def read_json(text: bytes) -> Any:
    """Reads JSON of another agent. ValueError: it is none, or its nesting is too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("the nesting is too deep") from None


def wrap(reply_to: str, payload: bytes) -> bytes:
    return json.dumps({"reply_to": reply_to}).encode() + b"\n" + payload


def unwrap(payload: bytes) -> tuple[str, bytes]:
    """reply_to and the payload. ValueError: it is no envelope."""
    head, line, rest = payload.partition(b"\n")
    fields = read_json(head)
    reply_to = fields.get("reply_to") if isinstance(fields, dict) else None
    if not line or not isinstance(reply_to, str):
        raise ValueError("the payload is no envelope")
    return reply_to, rest
