from __future__ import annotations

import asyncio
import contextlib
import json
import os
import types
from collections.abc import AsyncIterator, Mapping
from typing import Literal, Self, Unpack

from beeline import _core
from beeline._types import nanoseconds
from beeline.spool._claim import Claim
from beeline.spool._errors import NoTasks, TaskNotFound
from beeline.spool._forms import FOLDERS, Config, Folder, Listed, Swept, TaskFields
from beeline.spool._readiness import Readiness
from beeline.spool._watch import Watch

_SYNCS = ("none", "data", "full")
_ORDERS = ("priority", "fifo")
_Files = list[Listed]
_Claims = list[Claim]
_Texts = list[str]


def _place(word: str, words: tuple[str, ...], name: str) -> int:
    if word not in words:
        raise ValueError(f"{name} is one of {', '.join(map(repr, words))}, not {word!r}")
    return words.index(word)


class Spool:
    """A task folder. It is made, with its sub-folders, if it is not there.

    `dir` is $DROVER_MAILBOX_DIR if it is not given. `worker` is the name in the claims, by default
    "HOST:PID". `sync` names the writes that a call waits for: "none", "data" or "full". With
    `shared`, processes of other hosts use the folder. `read_only` is for lists, without the right
    to write; the folder has to be there. `process` is the pid of the process that the claims belong
    to: 0 is this one, -1 is none. Times are seconds.

    Threads may share it; a call waits for those of other threads. After a fork the child opens its
    own. The calls work on files: on a slow disk they are no calls for a loop that must not wait.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str] | None = None,
        *,
        worker: str | None = None,
        sync: Literal["none", "data", "full"] = "none",
        order: Literal["priority", "fifo"] = "priority",
        shared: bool = False,
        read_only: bool = False,
        process: int = 0,
        poll_every: float = 1.0,
        heartbeat_patience: float = 900.0,
        outbox_retention: float | None = None,
        failed_retention: float | None = None,
        temp_retention: float = 3600.0,
    ) -> None:
        self._handle = _core.open_spool(
            dir=None if dir is None else os.fspath(dir),
            worker=worker,
            sync=_place(sync, _SYNCS, "sync"),
            order=_place(order, _ORDERS, "order"),
            shared=shared,
            read_only=read_only,
            process=process,
            poll_every=poll_every,
            heartbeat_patience=heartbeat_patience,
            outbox_retention=outbox_retention,
            failed_retention=failed_retention,
            temp_retention=temp_retention,
        )
        self._config: Config = json.loads(self._handle.describe())
        self._readiness = Readiness(self._handle, poll_every)
        self._tells = False  # fileno() was called, so a look that finds nothing arms it

    def __repr__(self) -> str:
        return f"<Spool {self.dir!r}{', closed' if self.closed else ''}>"

    @property
    def dir(self) -> str:
        """The absolute path of the folder."""
        return self._config["dir"]

    @property
    def config(self) -> Config:
        """The options in effect."""
        return self._config

    @property
    def closed(self) -> bool:
        return self._handle.closed

    def close(self) -> None:
        """Puts back the claims that have not ended. Waiting calls raise ClosedError."""
        self._handle.close()
        self._readiness.wake()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.close()

    # ---- Tasks ----

    def put(
        self, task: Mapping[str, object] | None = None, /, **fields: Unpack[TaskFields]
    ) -> str:
        """Writes a task to inbox/ and returns its id. `fields` go over those of `task`, which may
        have keys that the format does not know."""
        return self._handle.put(json.dumps({**(task or {}), **fields}))

    def try_claim(self) -> Claim | None:
        """The next task, or None: none waits. Does not wait."""
        handle = self._handle.claim(0)
        return None if handle is None else Claim(handle)

    def claim(self, timeout: float | None = None) -> Claim:
        """The next task. NoTasks: none came in `timeout` seconds. Ctrl-C ends the wait."""
        handle = self._handle.claim(nanoseconds(timeout))
        if handle is None:
            raise self._no_tasks(timeout)
        return Claim(handle)

    async def aclaim(self, timeout: float | None = None) -> Claim:
        """The same in an event loop, which runs on meanwhile."""
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + timeout
        while True:
            told = self._tells
            claim = self.try_claim()
            if claim is not None:
                return claim
            if until is not None and loop.time() >= until:
                raise self._no_tasks(timeout)
            if told:
                await self._readiness.wait(until)
            else:
                self.fileno()

    async def claims(self) -> AsyncIterator[Claim]:
        """Tasks as they come, without an end: `async for claim in spool.claims()`."""
        while True:
            yield await self.aclaim()
            await asyncio.sleep(0)  # others run also while tasks wait

    def held(self, id: str) -> Claim:
        """The claim of this worker on a task, whatever process made it."""
        return Claim(self._handle.held(id))

    def take_over(self) -> _Claims:
        """Makes all claims of this worker those of this process: for a worker that was restarted
        under its name, while no other process uses the name."""
        claims = []
        for id in json.loads(self._handle.take_over()):
            with contextlib.suppress(TaskNotFound):  # somebody has moved the file since
                claims.append(self.held(id))
        return claims

    def _no_tasks(self, timeout: float | None) -> NoTasks:
        return NoTasks(f"no tasks available: none has come to {self.dir} in {timeout} s")

    # ---- The folder ----

    def list(self, folder: Folder) -> _Files:
        """The files of a folder: tasks in the order of their claims, the others by age."""
        found: _Files = json.loads(self._handle.list(_place(folder, FOLDERS, "folder")))
        return found

    def find(self, id: str) -> Listed:
        """The task of an id where it is now: being worked on, waiting, or as the newer of its
        result and its error."""
        found: Listed = json.loads(self._handle.find(id))
        return found

    def sweep(self) -> Swept:
        """Takes back claims whose processes have ended, and removes files that are older than their
        retention. Call it now and then; an hour is usual."""
        found: Swept = json.loads(self._handle.sweep())
        return found

    def remarks(self) -> _Texts:
        """Remarks about files that were left alone or moved to failed/. Each is said once."""
        return list(iter(self._handle.next_remark, None))

    def watch(self) -> Watch:
        """The changes of the folder from now on."""
        return Watch(self.dir)

    def fileno(self) -> int:
        """A descriptor for a loop of your own, readable when a task may have come. Call try_claim()
        until it says None, then wait, and look again after `poll_every`. -1: the kernel has none
        now."""
        self._tells = True
        return self._handle.fileno()
