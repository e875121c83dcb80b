"""Contents as JSON. JSON has neither bytes nor UUIDs nor times: a value with one of them is written
as `{"$beeline": value}`, in which each of them is a dictionary with one key."""

import base64
import binascii
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from .errors import ValidationError

MARK = "$beeline"
# A dictionary that looks like one of these tags stands in a tag of its own.
BYTES, ID, TIME, PLAIN = "$bytes", "$uuid", "$time", "$plain"

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _checked(encode: Callable[[Any], Any], value: Any) -> Any:
    try:
        return encode(value)
    except RecursionError:
        raise ValidationError("the content is no JSON: it is nested too deeply") from None
    except ValueError as error:  # a number that is not finite, a circle, half a surrogate pair
        raise ValidationError(f"the content is no JSON: {error}") from None


def _tagged(value: Any, around: tuple[int, ...] = ()) -> Any:
    if isinstance(value, (dict, list, tuple)):
        if id(value) in around:
            raise ValueError("Circular reference detected")
        inside = (*around, id(value))
        if not isinstance(value, dict):
            return [_tagged(item, inside) for item in value]
        made = {key: _tagged(item, inside) for key, item in value.items()}
        return {PLAIN: made} if len(made) == 1 and next(iter(made)) in _RESTORE else made
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, UUID):
        return {ID: str(value)}
    return {TIME: value.isoformat()} if isinstance(value, datetime) else value


def dumps(value: Any) -> str:
    """JSON in one line. ValidationError if there is none of this value."""
    try:
        return str(_checked(_encode, value))
    except TypeError as error:
        raise ValidationError(f"the content is no JSON: {error}") from None


def encode(value: Any) -> str:
    """As dumps(), also of what JSON does not have."""
    if not (isinstance(value, dict) and MARK in value):
        try:
            return str(_checked(_encode, value))
        except TypeError:
            pass
    return dumps({MARK: _checked(_tagged, value)})


def to_plain(value: Any) -> Any:
    """A copy of `value` made of nothing but JSON's own types."""
    return json.loads(encode(value))


def _untag(value: Any) -> Any:
    if isinstance(value, list):
        return [_untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (key, inner), = value.items()
        if key in _RESTORE:
            return _RESTORE[key](inner)
    return {key: _untag(item) for key, item in value.items()}


def _plain(inner: Any) -> Any:
    if not isinstance(inner, dict):
        raise ValidationError(f"a dictionary belongs into {PLAIN}")
    return {key: _untag(item) for key, item in inner.items()}


_RESTORE: dict[str, Callable[[Any], Any]] = {
    BYTES: lambda inner: base64.b64decode(inner, validate=True),
    ID: UUID,
    TIME: datetime.fromisoformat,
    PLAIN: _plain,
}


def from_plain(value: Any) -> Any:
    """The value of which to_plain() made this one. ValidationError if that cannot be."""
    if not (isinstance(value, dict) and len(value) == 1 and MARK in value):
        return value
    try:
        return _untag(value[MARK])
    except (TypeError, AttributeError, ValueError, RecursionError, binascii.Error) as error:
        raise ValidationError(f"the content has a tag that is none: {error}") from None


def loads(text: str | bytes) -> Any:
    """ValidationError if the text is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"this is no JSON: {error}") from None
