"""Ids of requests: texts in the form of a UUID that fit into the 64 bits of the engine's reply_to.

A sender names its request before it sends it, so the request cannot be named by the id of its
message. The number of a request looks like a message id of its sender, with the highest bit of the
count set. Messages are counted from 1, so no message has such an id.
"""

from __future__ import annotations

import random

from beeline._types import MessageId

_COUNT_BITS = 40
_REQUEST_BIT = 1 << (_COUNT_BITS - 1)
# The rest of the UUID: version 8 and the variant of RFC 9562, then the mark of this package.
_VERSION, _VARIANT, _MARK = "8", "b", "ee-0be011e00be0"


def new_request(pid: int) -> int:
    """The number of a request, random, so that no answer to an earlier process fits."""
    return (pid << _COUNT_BITS) | _REQUEST_BIT | random.getrandbits(_COUNT_BITS - 1)


def text_of(number: int) -> str:
    """The text for a number: the UUID of a request, the id of a message, or nothing for 0."""
    if not number & _REQUEST_BIT:
        return str(MessageId(number))
    digits = f"{number:016x}"
    return (
        f"{digits[:8]}-{digits[8:12]}-{_VERSION}{digits[12:15]}-{_VARIANT}{digits[15]}{_MARK}"
    )


def is_named_by_sender(number: int, pid: int) -> bool:
    """True if reply_to is a name that the sender chose for its message: 0 is a text of its own.

    Otherwise it names a message of another agent, which the sender answers.
    """
    return not number or number >> _COUNT_BITS == pid


def number_of(text: str) -> int:
    """The number that text_of() wrote as this text; 0: it wrote none."""
    try:
        if len(text) != 36:
            return MessageId.parse(text)
        number = int(text[:8] + text[9:13] + text[15:18] + text[20], 16)
    except ValueError:
        return 0
    return number if number & _REQUEST_BIT and text_of(number) == text else 0
