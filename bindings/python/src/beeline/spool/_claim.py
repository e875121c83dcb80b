from __future__ import annotations

import contextlib
import json
import types
from typing import Self

from beeline import _core
from beeline.spool._errors import SpoolError
from beeline.spool._forms import Task


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class Claim:
    """A task that this worker has: `with claim:`. The body may end it by done(), fail() or retry().
    If it did not, the end of the body is done(), and an exception is retry() with its text.

    A claim that is dropped before its end, or whose spool is closed, is put back. After the end its
    facts stay readable, and each method raises TaskNotFound.
    """

    __slots__ = ("_handle", "_task")

    def __init__(self, handle: _core.SpoolClaim) -> None:
        self._handle = handle
        self._task: Task = json.loads(handle.text)

    def __repr__(self) -> str:
        return f"<Claim {self.id!r}{'' if self.held else ', ended'}>"

    @property
    def held(self) -> bool:
        """False once it was ended or kept."""
        return self._handle.held

    @property
    def task(self) -> Task:
        """The task as its file has it."""
        return self._task

    @property
    def id(self) -> str:
        return self._task["id"]

    @property
    def title(self) -> str:
        return self._task["title"]

    @property
    def description(self) -> str:
        return self._task["description"]

    @property
    def priority(self) -> int:
        return self._task["priority"]

    @property
    def note(self) -> str:
        """The text that write_note() has kept."""
        return self._handle.note

    def write_note(self, text: str) -> None:
        """Keeps a text with the claim, for the process that takes the claim over."""
        self._handle.write_note(_utf8(text))
        self._task = json.loads(self._handle.text)

    def done(
        self, output: str = "", verdict: str = "unknown", reason: str = "", **extra: object
    ) -> None:
        """Writes the result to outbox/. A verdict is pass, fail, blocked or unknown; other keys are
        kept in the file."""
        completion: dict[str, object] = {
            "verdict": verdict,
            "verdict_reason": reason,
            "output": output,
        }
        self._handle.complete(json.dumps(completion | extra))

    def fail(self, error: str) -> None:
        """Writes the error to failed/ and ends the task for good, whatever attempts are left."""
        self._handle.fail(_utf8(error))

    def retry(self, error: str) -> bool:
        """Puts the task back, or fails it if its attempts are used up. True: it waits again."""
        return self._handle.retry(_utf8(error))

    def heartbeat(self) -> None:
        """Says that the worker lives, in a folder that other hosts share."""
        self._handle.heartbeat()

    def keep(self) -> None:
        """Lets go of the claim, which stays: Spool.held() finds it again."""
        self._handle.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        if not self.held:
            return
        if error is None:
            self.done()
            return
        # The error of the body is the one to be seen.
        with contextlib.suppress(SpoolError):
            self.retry(str(error) or type(error).__name__)
