"""The exceptions of the task folder: one class for each of its five errors."""

from __future__ import annotations

from beeline._errors import BeelineError, InvalidArgument


class SpoolError(BeelineError):
    """The base of the errors of a task folder. `code` is the name in the document of the format."""


class MailboxDirError(SpoolError):
    """The folder, its disk or its rights. Nothing was lost: try again."""

    code = "ErrMailboxDir"


class TaskExists(SpoolError):
    """A task of this id waits or is being worked on; it stays as it is."""

    code = "ErrTaskExists"


class NoTasks(SpoolError):
    """No task came in the time given."""

    code = "ErrNoTasks"


class TaskNotFound(SpoolError):
    """No task of this id, or another worker has it. Nothing was written, or the text says so."""

    code = "ErrTaskNotFound"


class InvalidTask(SpoolError):
    """The JSON, a value in it, or the id cannot be used."""

    code = "ErrInvalidTask"


_OF_CODE: dict[int, type[BeelineError]] = {
    1: MailboxDirError,
    2: TaskExists,
    3: NoTasks,
    4: TaskNotFound,
    5: InvalidTask,
    6: InvalidArgument,
}
_NO_MEMORY = 7


def make(code: int, errno: int, text: str) -> Exception:
    """The exception for a code of the library. For the extension."""
    if code == _NO_MEMORY:
        return MemoryError(text)
    return _OF_CODE.get(code, SpoolError)(text, errno)
