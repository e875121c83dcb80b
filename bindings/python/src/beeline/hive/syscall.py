"""The calls of a task in the hands of handle_task()."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Protocol

from beeline._types import Task
from beeline.hive.client import CoreClient
from beeline.hive.types import TaskResult

_TASK_PATIENCE = 120


class Reports(Protocol):
    """Takes the reports of a task: (is it a line for the log, the text)."""

    async def put(self, report: tuple[bool, str], /) -> None: ...


class SyscallContext:
    """The context of one task. `out_queue` takes its reports; without one they go nowhere."""

    def __init__(
        self, task_id: str = "", out_queue: Reports | None = None, core: CoreClient | None = None
    ) -> None:
        self.task_id = task_id
        self._out_queue = out_queue
        self._core = core or CoreClient()

    async def report_progress(self, message: str, percent: float = 0.0) -> None:
        """Tells the parent how far the task is."""
        await self._report(False, f"{percent:g}% {message}" if percent else message)

    async def log(self, level: str, message: str, **fields: Any) -> None:
        """Writes a line into the log of this process, and tells the parent."""
        await self._core.log(level, message, **fields)
        await self._report(True, f"{level}: {message}")

    async def log_event(self, event_type: str, message: str, **fields: Any) -> None:
        """As log(), with the field event_type."""
        await self.log("info", message, event_type=event_type, **fields)

    async def _report(self, is_log: bool, text: str) -> None:
        if self._out_queue is not None:
            await self._out_queue.put((is_log, text))

    async def send(
        self,
        to_pid: int = 0,
        to_queue: str = "",
        type: str = "default",
        payload: bytes = b"",
        priority: str = "normal",
        requires_ack: bool = False,
        ttl: float = 0,
        reply_to: str = "",
    ) -> str:
        """As CoreClient.send_message()."""
        return await self._core.send_message(
            to_pid, to_queue, type, payload, priority, requires_ack, ttl, reply_to
        )

    async def list_siblings(self) -> list[dict[str, Any]]:
        """As CoreClient.list_siblings()."""
        return await self._core.list_siblings()

    async def escalate(
        self, issue: str | bytes, severity: str = "warning", auto_propagate: bool = True
    ) -> str:
        """As CoreClient.escalate()."""
        return await self._core.escalate(issue, severity, auto_propagate)

    async def execute_on(
        self,
        pid: int,
        description: str,
        params: Mapping[str, str] | None = None,
        timeout_seconds: float = 0,
    ) -> TaskResult:
        """Gives a part of this task to a child, and waits for its result."""
        task = Task(
            description=description,
            params=dict(params or {}),
            id=str(uuid.uuid4()),
            parent_task=self.task_id,
            timeout=timeout_seconds or _TASK_PATIENCE,
        )
        return await self._core.execute("execute_on failed", pid, task)

    async def spawn(
        self,
        name: str,
        role: str,
        cognitive_tier: str,
        system_prompt: str = "",
        model: str = "",
        tools: list[str] | None = None,
        initial_task: str = "",
        limits: Mapping[str, int] | None = None,
        runtime_image: str = "",
        runtime_type: str = "python",
    ) -> int:
        """As CoreClient.spawn_child()."""
        return await self._core.spawn_child(
            name,
            role,
            cognitive_tier,
            system_prompt,
            model,
            tools,
            initial_task,
            limits,
            runtime_image,
            runtime_type,
        )

    async def kill(self, pid: int, recursive: bool = True) -> list[int]:
        """As CoreClient.kill_child()."""
        return await self._core.kill_child(pid, recursive)

    async def wait_child(self, pid: int, timeout_seconds: float = 60) -> dict[str, Any]:
        """As CoreClient.wait_child()."""
        return await self._core.wait_child(pid, timeout_seconds)

    async def store_artifact(
        self, key: str, content: bytes, content_type: str = "text/plain", visibility: int = 3
    ) -> str:
        """As CoreClient.store_artifact()."""
        return await self._core.store_artifact(key, content, content_type, visibility)

    async def get_artifact(self, key: str = "", artifact_id: str = "") -> Any:
        """As CoreClient.get_artifact()."""
        return await self._core.get_artifact(key, artifact_id)
