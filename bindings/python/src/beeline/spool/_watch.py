from __future__ import annotations

import types
from typing import Self

from beeline import _core
from beeline.spool._forms import FOLDERS, Change


class Watch:
    """The changes of a task folder since it was made, as an iterator. The next one waits; Ctrl-C
    ends the wait. For a loop: `try_next()` when `fileno()` is readable."""

    def __init__(self, dir: str) -> None:
        self._handle = _core.open_spool_watch(dir)

    def fileno(self) -> int:
        return self._handle.fileno()

    def try_next(self) -> Change | None:
        """The next change that has happened, in order."""
        found = self._handle.next()
        return None if found is None else Change(found[0], FOLDERS[found[1]], found[2])

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Change:
        while (change := self.try_next()) is None:
            self._handle.wait()
        return change

    def close(self) -> None:
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.close()
