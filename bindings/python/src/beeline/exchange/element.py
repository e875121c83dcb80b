"""Element: an object with an identity, that can become a dictionary or JSON and come back."""

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, ClassVar, TypeVar
from uuid import UUID, uuid4

from . import codec
from .errors import ValidationError

E = TypeVar("E", bound="Element")

CLASS_KEY = "lion_class"


def as_uuid(value: Any) -> UUID:
    """The UUID that a UUID, its text, or an object with an `id` means."""
    if isinstance(value, UUID):
        return value
    if isinstance(value, str):
        try:
            return UUID(value)
        except ValueError as error:
            raise ValidationError(f"{error}: {value!r}") from None
    own = getattr(value, "id", None)
    if isinstance(own, UUID):
        return own
    raise ValidationError("Cannot get ID from item.")


def as_time(value: Any) -> datetime:
    """A time in UTC. One without a zone is taken as UTC."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, (int, float)):
            value = datetime.fromtimestamp(value, timezone.utc)
        if isinstance(value, datetime):
            return value.replace(tzinfo=value.tzinfo or timezone.utc).astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError) as error:
        raise ValidationError(f"created_at: {error}") from None
    raise ValidationError(f"created_at is a time, not {type(value).__name__}")


class Element:
    """Equal elements are those of one id. An element is always true."""

    __slots__ = ("_id", "_created_at", "metadata", "__weakref__")

    LION_CLASS: ClassVar[str] = "lionpride.core.element.Element"
    _classes: ClassVar[dict[str, type["Element"]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = f"{cls.__module__}.{cls.__qualname__}"
        if "LION_CLASS" not in cls.__dict__:
            cls.LION_CLASS = own
        Element._classes[cls.LION_CLASS] = Element._classes[own] = cls

    def __init__(
        self,
        id: UUID | str | None = None,
        created_at: datetime | str | float | None = None,
        metadata: Mapping[str, Any] | None = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            raise ValidationError(f"{type(self).__name__} has no field {', '.join(unknown)}")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise ValidationError(f"metadata is a dictionary, not {type(metadata).__name__}")
        self._id = uuid4() if id is None else as_uuid(id)
        self._created_at = (
            datetime.now(timezone.utc) if created_at is None else as_time(created_at)
        )
        self.metadata: dict[str, Any] = dict(metadata or {})

    @property
    def id(self) -> UUID:
        return self._id

    @id.setter
    def id(self, value: object) -> None:
        raise ValidationError("id is frozen")

    @property
    def created_at(self) -> datetime:
        return self._created_at

    @created_at.setter
    def created_at(self, value: object) -> None:
        raise ValidationError("created_at is frozen")

    def _fields(self, mode: str) -> dict[str, Any]:
        """The fields of the class, without those of Element. `mode` is "python" or "json"."""
        return {}

    @classmethod
    def _from_fields(cls: type[E], fields: dict[str, Any]) -> E:
        return cls(**fields)

    def to_dict(self, mode: str = "python") -> dict[str, Any]:
        """`mode`: "python" keeps the values, "json" makes text of what JSON does not have, "db" is
        "json" with `node_metadata` for `metadata`."""
        if mode not in ("python", "json", "db"):
            raise ValidationError(f"mode is python, json or db, not {mode!r}")
        if mode == "python":
            metadata = self.metadata | {CLASS_KEY: self.LION_CLASS}
            own = {"id": self._id, "created_at": self._created_at, "metadata": metadata}
            return own | self._fields(mode)
        metadata = codec.to_plain(self.metadata) | {CLASS_KEY: self.LION_CLASS}
        key = "node_metadata" if mode == "db" else "metadata"
        own = {"id": str(self._id), "created_at": self._created_at.isoformat(), key: metadata}
        return own | self._fields("json")

    @classmethod
    def from_dict(cls: type[E], data: Mapping[str, Any]) -> E:
        """An element equal to the one that to_dict() was called for, of the class that it names."""
        if not isinstance(data, Mapping):
            raise ValidationError(f"an element is a dictionary, not {type(data).__name__}")
        fields = dict(data)
        metadata = fields.pop("node_metadata", None) or fields.pop("metadata", None) or {}
        if not isinstance(metadata, Mapping):
            raise ValidationError(f"metadata is a dictionary, not {type(metadata).__name__}")
        metadata = dict(metadata)
        name = metadata.pop(CLASS_KEY, None)
        fields["metadata"] = codec.from_plain(metadata)
        made = Element._classes.get(name, cls) if isinstance(name, str) else cls
        if not issubclass(made, cls):
            raise ValidationError(f"this is a {made.__name__}, not a {cls.__name__}")
        return made._from_fields(fields)

    def to_json(self, decode: bool = True) -> Any:
        """A str, or bytes without `decode`."""
        text = codec.dumps(self.to_dict("json"))
        return text if decode else text.encode()

    @classmethod
    def from_json(cls: type[E], text: str | bytes) -> E:
        return cls.from_dict(codec.loads(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self._id == other._id

    def __hash__(self) -> int:
        return hash(self._id)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self._id})"


Element._classes[Element.LION_CLASS] = Element
