"""A task folder: tasks as files, handed from producers to workers by renames. It needs no hive.

    with beeline.spool.Spool("tasks") as spool:
        spool.put(title="Count the words", priority=5)
        with spool.claim() as claim:
            claim.done(f"{len(claim.title.split())} words", verdict="pass")

In asyncio, `await spool.aclaim()` and `async for claim in spool.claims()` wait. The format and the
rules are in docs/spool.md.
"""

from beeline import _core

if not hasattr(_core, "Spool"):
    raise ImportError(
        "beeline.spool: this build of Beeline has no task folder; build it with -DBEELINE_SPOOL=ON"
    )

from beeline.spool._claim import Claim  # noqa: E402
from beeline.spool._errors import (
    InvalidTask,
    MailboxDirError,
    NoTasks,
    SpoolError,
    TaskExists,
    TaskNotFound,
)
from beeline.spool._forms import (
    Change,
    Completion,
    Config,
    Folder,
    Listed,
    Metadata,
    Swept,
    Task,
    TaskError,
    TaskFields,
)
from beeline.spool._spool import Spool
from beeline.spool._watch import Watch

__all__ = [
    "Change",
    "Claim",
    "Completion",
    "Config",
    "Folder",
    "InvalidTask",
    "Listed",
    "MailboxDirError",
    "Metadata",
    "NoTasks",
    "Spool",
    "SpoolError",
    "Swept",
    "Task",
    "TaskError",
    "TaskExists",
    "TaskFields",
    "TaskNotFound",
    "Watch",
]
