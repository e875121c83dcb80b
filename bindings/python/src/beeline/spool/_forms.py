"""The files of a task folder as dicts. Keys that the format does not know are kept in them, too."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypedDict

Folder = Literal["inbox", "processing", "outbox", "failed"]
FOLDERS: tuple[Folder, ...] = ("inbox", "processing", "outbox", "failed")


class Metadata(TypedDict, total=False):
    worktree: str
    dependencies: list[str]


class TaskFields(TypedDict, total=False):
    """A task for `Spool.put()`. Keys that are missing have the defaults of the format."""

    id: str
    title: str
    description: str
    epic_id: str
    parent_id: str
    sequence_number: int
    type: str  # feature bug refactor test docs research fix other
    priority: int  # higher first
    status: str
    attempts: int
    max_attempts: int
    last_error: str
    claimed_by: str
    claimed_at: int
    operator: str
    verdict: str  # pass fail blocked unknown
    verdict_reason: str
    test_mode: str
    test_scope: str
    test_command: str
    created_at: int  # this and the other times: seconds since 1970
    updated_at: int
    metadata: Metadata


class Task(TypedDict):
    """A task as its file has it."""

    id: str
    title: str
    description: str
    epic_id: str
    parent_id: str
    sequence_number: int
    type: str
    priority: int
    status: str
    attempts: int
    max_attempts: int
    last_error: str
    claimed_by: str
    claimed_at: int
    operator: str
    verdict: str
    verdict_reason: str
    test_mode: str
    test_scope: str
    test_command: str
    created_at: int
    updated_at: int
    metadata: Metadata


class Completion(TypedDict):
    """A result, as its file in outbox/ has it."""

    task_id: str
    status: str
    verdict: str
    verdict_reason: str
    output: str
    duration_ms: int
    completed_at: int


class TaskError(TypedDict):
    """The end of a task that failed, as its file in failed/ has it."""

    task_id: str
    status: str
    error: str
    attempts: int
    last_attempt_at: int
    failed_at: int


class _Place(TypedDict):
    id: str
    folder: Folder
    changed_at: int


class Listed(_Place, total=False):
    """A file. It has one of the four keys that may be missing."""

    task: Task  # in inbox and processing
    completion: Completion
    error: TaskError
    problem: str  # why the file cannot be read


class Swept(TypedDict):
    """The ids of claims that were taken back, and how many old files were removed."""

    recovered: list[str]  # their workers had ended, they wait again
    exhausted: list[str]  # likewise, but no attempt was left
    finished: list[str]  # the result was written, and the claim is gone now
    results: int
    errors: int
    temps: int


class Config(TypedDict):
    """The options in effect."""

    dir: str
    worker: str
    sync: str
    order: str
    shared: bool
    read_only: bool
    process: int
    poll_every_ms: int
    heartbeat_patience_s: int
    outbox_retention_s: int
    failed_retention_s: int
    temp_retention_s: int
    enabled: bool  # the variable DROVER_MAILBOX_ENABLED


class Change(NamedTuple):
    """A file has come or gone. An empty id: changes were lost, look at everything."""

    id: str
    folder: Folder
    came: bool
