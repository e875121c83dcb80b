"""Pile: elements by their ids, in the order in which they were added."""

import threading
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar
from uuid import UUID

from .element import Element, as_uuid
from .errors import ExistsError, NotFoundError

T = TypeVar("T", bound=Element)

_REQUIRED: Any = object()


class Pile(Element, Generic[T]):
    """With `item_type` it takes elements of exactly that class."""

    __slots__ = ("by_id", "item_type", "lock")
    LION_CLASS = "lionpride.core.pile.Pile"

    def __init__(
        self,
        items: Iterable[T] = (),
        item_type: type[T] | None = None,
        *,
        lock: "threading.RLock | None" = None,
        **data: Any,
    ) -> None:
        super().__init__(**data)
        self.by_id: dict[UUID, T] = {}
        self.item_type = item_type
        self.lock = lock or threading.RLock()
        for item in items:
            self.add(item)

    def add(self, item: T) -> None:
        wanted = self.item_type
        if not isinstance(item, Element) or wanted is not None and type(item) is not wanted:
            kind = wanted.__name__ if wanted else "Element"
            raise TypeError(f"the pile takes a {kind}, not a {type(item).__name__}")
        with self.lock:
            if item.id in self.by_id:
                raise ExistsError(f"{item!r} is in the pile already")
            self.by_id[item.id] = item

    def get(self, item: Any, default: Any = _REQUIRED) -> T:
        found = self.by_id.get(as_uuid(item), default)
        if found is _REQUIRED:
            raise NotFoundError(f"the pile has no item {as_uuid(item)}")
        return found

    def pop(self, item: Any, default: Any = _REQUIRED) -> T:
        found = self.by_id.pop(as_uuid(item), default)
        if found is _REQUIRED:
            raise NotFoundError(f"the pile has no item {as_uuid(item)}")
        return found

    def remove(self, item: Any) -> None:
        self.pop(item)

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[T]:
        with self.lock:
            return iter(list(self.by_id.values()))

    def __contains__(self, item: Any) -> bool:
        return as_uuid(item) in self.by_id

    def _fields(self, mode: str) -> dict[str, Any]:
        return {"items": [item.to_dict(mode) for item in self]}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> "Pile[T]":
        items: list[Any] = [Element.from_dict(item) for item in fields.pop("items", ())]
        return cls(items, **fields)

    def __repr__(self) -> str:
        return f"Pile(len={len(self)})"
