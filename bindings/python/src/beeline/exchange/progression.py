"""Progression: a named list of ids."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from .element import Element, as_uuid
from .errors import NotFoundError


class Progression(Element):
    __slots__ = ("name", "order", "lock")
    LION_CLASS = "lionpride.core.progression.Progression"

    def __init__(
        self,
        order: Iterable[Any] = (),
        name: str | None = None,
        *,
        lock: "threading.RLock | None" = None,
        **data: Any,
    ) -> None:
        super().__init__(**data)
        self.name = name
        self.order: deque[UUID] = deque(as_uuid(item) for item in order)
        self.lock = lock or threading.RLock()

    def append(self, item: Any) -> None:
        self.order.append(as_uuid(item))

    def popleft(self) -> UUID:
        try:
            return self.order.popleft()
        except IndexError:
            raise NotFoundError(f"{self!r} is empty") from None

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[UUID]:
        with self.lock:
            return iter(list(self.order))

    def __contains__(self, item: Any) -> bool:
        return as_uuid(item) in self.order

    def _fields(self, mode: str) -> dict[str, Any]:
        return {"name": self.name,
                "order": list(self) if mode == "python" else [str(item) for item in self]}

    def __repr__(self) -> str:
        return f"Progression(len={len(self)} name={self.name!r})"
