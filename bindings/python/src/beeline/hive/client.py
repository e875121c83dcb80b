"""The calls of an agent to its hive."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

from beeline import aio
from beeline._errors import (
    BeelineError,
    Denied,
    NoAgent,
    PeerDead,
    PeerDeadTaken,
    Rejected,
    TaskFailed,
)
from beeline._processes import SpawnOptions
from beeline._types import ESCALATION, Task
from beeline.hive.children import (
    command_of,
    environment_of,
    spawn_agent,
    tier_of,
    wait_for_child,
)
from beeline.hive.post import Post
from beeline.hive.process_info import ProcessInfo
from beeline.hive.request_id import number_of
from beeline.hive.steward import no_steward
from beeline.hive.types import MessageAck, ResourceUsage, TaskResult
from beeline.hive.words import ROLES, rank_of

_log = logging.getLogger("beeline.hive")
_TASK_PATIENCE = 120
_COORDINATOR = 1


class CoreClient:
    """The hive as one agent sees it.

    `channel` is the attached beeline.Agent that makes the calls; HiveAgent.run() gives one. `pid`
    is a note for its owner: the sender of a message is always the agent itself.
    """

    def __init__(self, channel: aio.Agent | None = None, pid: int = 0) -> None:
        self.pid = pid
        self._agent: aio.Agent | None = None
        self._post: Post | None = None
        if channel is not None:
            self.connect(channel, Post(channel))

    def connect(self, agent: aio.Agent, post: Post) -> None:
        """Makes the calls through this agent from now on."""
        self._agent = agent
        self._post = post
        self.pid = self.pid or agent.pid

    def _connected(self, failure: str) -> aio.Agent:
        if self._agent is None:
            raise RuntimeError(f"{failure}: CoreClient not connected; HiveAgent.run() connects it")
        return self._agent

    # ---- Messages ----

    async def send_message(
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
        """Sends, and returns the id of the message once it lies in the receiver's inbox.

        `ttl`: seconds until it expires, 0: never. `requires_ack`: acknowledgement() has the
        receiver's word. An answer names its message in `reply_to`, by message_id or by reply_to.
        """
        self._connected("send failed")
        assert self._post is not None
        if to_queue:
            raise RuntimeError(
                f"send failed: there are no named queues here, so none is named {to_queue!r}; "
                "send to the agent that works on it"
            )
        if not to_pid:
            raise RuntimeError("send failed: no target specified")
        return await self._post.send(
            to_pid,
            payload,
            type=type,
            priority=priority,
            requires_ack=requires_ack,
            ttl=ttl,
            reply_to=reply_to,
        )

    async def acknowledgement(
        self, to_pid: int, message_id: str, timeout: float = 60.0
    ) -> MessageAck:
        """Waits for the receiver's word on a message that was sent with requires_ack."""
        agent = self._connected("acknowledgement failed")
        try:
            word = await agent.ack(to_pid, number_of(message_id), timeout)
        except BeelineError as error:
            raise RuntimeError(f"acknowledgement failed: {error}") from error
        return MessageAck(message_id, int(word.status), word.text)

    async def escalate(
        self, issue: str | bytes, severity: str = "warning", auto_propagate: bool = True
    ) -> str:
        """Tells the parent of a problem, as a message of the type `escalation`.

        It is urgent at least as much as `high`; the severity `critical` makes it critical. If the
        parent has ended, the next ancestor gets it, unless `auto_propagate` is false.
        """
        agent = self._connected("escalate failed")
        rank = rank_of("critical" if severity == "critical" else "high")
        try:
            if auto_propagate or agent.parent == _COORDINATOR:
                return str(await agent.escalate(issue, rank=rank))
            return str(await agent.send(agent.parent, issue, type=ESCALATION, rank=rank))
        except BeelineError as error:
            raise RuntimeError(f"escalate failed: {error}") from error

    # ---- The tree ----

    async def list_siblings(self) -> list[dict[str, Any]]:
        """pid, name, role and state, as words, of the other children of this agent's parent."""
        agent = self._connected("list_siblings failed")
        try:
            siblings = await agent.siblings()
        except (BeelineError, TimeoutError) as error:
            raise RuntimeError(f"list_siblings failed: {error}") from error
        return [
            {"pid": a.pid, "name": a.name, "role": a.role, "state": a.state.name.lower()}
            for a in siblings
        ]

    async def list_children(self, recursive: bool = False) -> list[ProcessInfo]:
        """The children of this agent, or all its descendants."""
        agent = self._connected("list_children failed")
        try:
            return [ProcessInfo.of(each) for each in await agent.children(recursive)]
        except (BeelineError, TimeoutError) as error:
            raise RuntimeError(f"list_children failed: {error}") from error

    async def get_process_info(self, pid: int = 0) -> ProcessInfo:
        """One agent; 0: this one."""
        agent = self._connected("get_process_info failed")
        try:
            return ProcessInfo.of(await agent.info(pid))
        except NoAgent:
            raise RuntimeError(f"get_process_info failed: process {pid} not found") from None
        except (BeelineError, TimeoutError) as error:
            raise RuntimeError(f"get_process_info failed: {error}") from error

    # ---- Tasks ----

    async def execute_task(
        self,
        target_pid: int,
        description: str,
        params: Mapping[str, str] | None = None,
        timeout_seconds: float = _TASK_PATIENCE,
    ) -> TaskResult:
        """Gives a task to a child, and waits for its result."""
        task = Task(
            description=description,
            params=dict(params or {}),
            id=f"ext-{target_pid}-{description[:20]}",
            timeout=timeout_seconds or _TASK_PATIENCE,
        )
        return await self.execute("execute_task failed", target_pid, task)

    async def execute(self, failure: str, pid: int, task: Task) -> TaskResult:
        """Gives a task to a child. RuntimeError: there is no result; it begins with `failure`."""
        agent = self._connected(failure)
        try:
            result = await agent.execute(pid, task, progress=_note_progress)
        except (BeelineError, TimeoutError, ValueError, TypeError, OverflowError) as error:
            raise RuntimeError(f"{failure}: {_task_reason(error, pid)}") from error
        return TaskResult(
            result.exit_code, result.text, dict(result.artifacts), dict(result.metadata)
        )

    # ---- Log ----

    async def log(self, level: str, message: str, **fields: Any) -> None:
        """Writes a line into the log of this process: the logger `beeline.hive`."""
        number = logging.getLevelName(level.upper())
        more = "".join(f" {key}={value}" for key, value in fields.items())
        known = number if isinstance(number, int) else logging.INFO
        _log.log(known, "pid %d: %s%s", self.pid, message, more)

    # ---- Processes ----

    async def spawn_child(
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
        """Starts a child as a process, and returns its pid once its on_init() has returned.

        `runtime_image`: module:Class of a HiveAgent, found from the directory of this process; with
        the runtime_type `custom` it is a program. The child has the prompt and the model in its
        config, and initial_task and tools in config.metadata. Only max_children of the limits
        counts.
        """
        agent = self._connected("spawn failed")
        metadata = {"initial_task": initial_task, "tools": ",".join(tools or ())}
        config = {
            "system_prompt": system_prompt,
            "model": model,
            "metadata": {key: text for key, text in metadata.items() if text},
        }
        options: dict[str, Any] = {
            "role": role if role in ROLES else "task",
            "tier": tier_of(cognitive_tier),
            "environment": environment_of(name, config),
            "directory": os.getcwd(),
        }
        if model:
            options["model"] = model
        if limits and limits.get("max_children"):
            options["max_children"] = limits["max_children"]
        with _refusals("spawn failed"):
            command = command_of(runtime_image, runtime_type)
            if runtime_type == "python":
                return await spawn_agent(agent, name, command, options)
            return (await agent.spawn(name, command, **cast(SpawnOptions, options))).pid

    async def kill_child(self, pid: int, recursive: bool = True) -> list[int]:
        """Ends a child and its descendants, the lowest first; returns the pids, the child's last.

        Without `recursive` only a child without living children is ended.
        """
        agent = self._connected("kill failed")
        with _refusals("kill failed"):
            return await agent.kill(pid, recursive)

    async def wait_child(self, pid: int, timeout_seconds: float = 60) -> dict[str, Any]:
        """Waits for the end of a child: its pid, exit_code and output, the last lines of it.

        The exit code is -1 if a signal has ended it, or if nobody knows.
        """
        agent = self._connected("wait_child failed")
        with _refusals("wait_child failed"):
            return await wait_for_child(agent, pid, timeout_seconds)

    # ---- Calls that this steward does not know ----

    async def store_artifact(
        self,
        key: str,
        content: bytes,
        content_type: str = "application/octet-stream",
        visibility: int = 3,
    ) -> str:
        """Keeps content for other agents."""
        self._refuse("store artifact failed")

    async def get_artifact(self, key: str = "", artifact_id: str = "") -> Any:
        """Finds content by its key or its id."""
        self._refuse("artifact not found")

    async def list_artifacts(self, prefix: str = "") -> list[Any]:
        """Lists content by the start of its key."""
        self._refuse("list_artifacts failed")

    async def get_resource_usage(self) -> ResourceUsage:
        """The budget of this agent."""
        self._refuse("get_resource_usage failed")

    async def request_resources(
        self, resource_type: str = "tokens", amount: int = 0
    ) -> dict[str, Any]:
        """Asks for more budget."""
        self._refuse("request_resources failed")

    async def report_metric(self, name: str, value: float, **labels: str) -> None:
        """Reports a number, for the budget of this agent for example."""
        self._refuse("report_metric failed")

    async def add_cron(
        self,
        name: str,
        cron_expression: str,
        target_pid: int,
        description: str = "",
        params: Mapping[str, str] | None = None,
        action: str = "execute",
    ) -> str:
        """Plans something that happens again and again."""
        self._refuse("add_cron failed")

    async def remove_cron(self, id: str) -> bool:
        """Ends a plan."""
        self._refuse("remove_cron failed")

    async def list_cron(self) -> list[dict[str, Any]]:
        """Lists the plans."""
        self._refuse("list_cron failed")

    def _refuse(self, failure: str) -> NoReturn:
        self._connected(failure)
        raise no_steward(failure)


@contextlib.contextmanager
def _refusals(failure: str) -> Iterator[None]:
    try:
        yield
    except (BeelineError, TimeoutError, ValueError, RuntimeError) as error:
        # The steward begins with its own word for the call.
        words = str(error).removeprefix("kill: ").removeprefix("wait: ")
        raise RuntimeError(f"{failure}: {words}") from error


def _note_progress(said: Any) -> None:
    _log.debug("task %s: %s", said.task, said.text)


def _task_reason(error: BaseException, pid: int) -> str:
    text = str(error).removeprefix("execute failed: ")
    if isinstance(error, TaskFailed):
        return text  # "task failed: " and the text of the child
    if isinstance(error, Denied):
        return "can only execute_on own children"
    if isinstance(error, NoAgent):
        return "target process not found"
    if isinstance(error, (PeerDead, Rejected)):
        return f"no runtime for PID {pid}: {text}"
    if isinstance(error, PeerDeadTaken):
        return f"PID {pid} died with the task in hand"
    return text
