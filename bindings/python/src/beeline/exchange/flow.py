"""Flow: items, and progressions over them."""

import threading
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from .element import Element, as_uuid
from .errors import ExistsError
from .pile import Pile
from .progression import Progression

T = TypeVar("T", bound=Element)
F = TypeVar("F", bound="Flow[Any]")


class Flow(Element, Generic[T]):
    """Safe from several threads: one lock for the items and all progressions."""

    __slots__ = ("name", "items", "progressions", "lock", "_by_name")
    LION_CLASS = "lionpride.core.flow.Flow"

    def __init__(
        self,
        name: str | None = None,
        items: Iterable[T] = (),
        progressions: Iterable[Progression] = (),
        *,
        item_type: type[T] | None = None,
        **data: Any,
    ) -> None:
        super().__init__(**data)
        self.name = name
        self.lock = threading.RLock()
        self.items: Pile[T] = Pile(items, item_type, lock=self.lock)
        self.progressions: Pile[Progression] = Pile((), Progression, lock=self.lock)
        self._by_name: dict[str, Progression] = {}
        for progression in progressions:
            self.add_progression(progression)

    def add_progression(self, progression: Progression) -> None:
        with self.lock:
            if progression.name is not None and progression.name in self._by_name:
                raise ExistsError(f"{self!r} has a progression {progression.name!r} already")
            self.progressions.add(progression)
            progression.lock = self.lock
            if progression.name is not None:
                self._by_name[progression.name] = progression

    def get_progression(self, name: str) -> Progression:
        return self._by_name[name]

    def add_item(self, item: T, progressions: str | Iterable[str] = ()) -> None:
        names = [progressions] if isinstance(progressions, str) else list(progressions)
        with self.lock:
            into = [self._by_name[name] for name in names]
            self.items.add(item)
            for progression in into:
                progression.append(item)

    def remove_item(self, item: Any) -> T:
        """Removes it from the items and from all progressions."""
        with self.lock:
            found = self.items.pop(item)
            for progression in self.progressions:
                while as_uuid(item) in progression.order:
                    progression.order.remove(as_uuid(item))
            return found

    def _fields(self, mode: str) -> dict[str, Any]:
        with self.lock:
            return {"name": self.name, "items": self.items.to_dict(mode),
                    "progressions": self.progressions.to_dict(mode)}

    @classmethod
    def _from_fields(cls: type[F], fields: dict[str, Any]) -> F:
        for name in ("items", "progressions"):
            fields[name] = Pile.from_dict(fields.get(name, {}))
        return cls(**fields)

    def __repr__(self) -> str:
        items, progressions = len(self.items), len(self.progressions)
        return f"Flow(items={items}, progressions={progressions}, name={self.name!r})"
