"""An agent of a tree: subclass it, override its methods, run it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable
from typing import Any, cast

from beeline import aio
from beeline._types import CRON_TASK, TASK_RESPONSE
from beeline.hive.client import CoreClient
from beeline.hive.desk import Desk
from beeline.hive.envelope import read_json
from beeline.hive.post import Post
from beeline.hive.process_info import user_name
from beeline.hive.request_id import new_request, text_of
from beeline.hive.servicer import REASONS, Servicer
from beeline.hive.syscall import Reports, SyscallContext
from beeline.hive.types import AgentConfig, Message, MessageAck, Task, TaskResult

_log = logging.getLogger("beeline.hive")
_MOST_RESULTS = 4096
_GRACE = 5.0  # seconds for on_shutdown(), and for handlers that have begun
_DRAIN = 2.0


class HiveAgent:
    """An agent. run() attaches it and serves until it is told to end.

    Its name is config.name, else $BEELINE_NAME. Its parent and its role are config.metadata
    ["parent"] and ["role"], else $BEELINE_PARENT and $BEELINE_ROLE. `concurrency`: how many
    messages and tasks it handles at one time. `init_timeout`: seconds in which on_init() returns.
    """

    concurrency = 64
    init_timeout = 10.0

    def __init__(self) -> None:
        self._pid = 0
        self._ppid = 0
        self._user = user_name(os.getuid())
        self._role = ""
        self._config: AgentConfig = AgentConfig()
        self._core: CoreClient | None = None
        self._server: Any = None
        self._pending_requests: dict[str, asyncio.Future[Message]] = {}
        self._pending_results: list[Message] = []
        self._last_ctx: SyscallContext | None = None
        self._agent: aio.Agent | None = None
        self._post: Post | None = None
        self._desk: Desk | None = None
        self._ended = False
        self._reason = "normal"
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int:
        """The number of this agent in its hive."""
        return self._pid

    @property
    def ppid(self) -> int:
        """The number of its parent; 1 is the coordinator."""
        return self._ppid

    @property
    def user(self) -> str:
        """The name of the user whose process this is."""
        return self._user

    @property
    def role(self) -> str:
        """Its role: daemon, agent, architect, lead, worker or task."""
        return self._role

    @property
    def config(self) -> AgentConfig:
        """Its configuration."""
        return self._config

    @property
    def core(self) -> CoreClient:
        """The calls to the hive. None before run() has attached the agent."""
        return cast(CoreClient, self._core)

    # ---- To override ----

    async def on_init(self, config: AgentConfig) -> None:
        """Called once the agent is attached, before its first message."""

    async def on_shutdown(self, reason: str) -> bytes | None:
        """Called at the end. The result answers the order to shut down, if that was a request."""
        return None

    async def handle_task(self, task: Task, ctx: SyscallContext) -> TaskResult:
        """Does a task that the parent gives. An exception fails the task with its text."""
        raise NotImplementedError(f"{type(self).__name__} does no tasks: it has no handle_task()")

    async def handle_message(self, message: Message) -> MessageAck:
        """Handles a message that is no answer. An exception requeues it; it comes three times."""
        return MessageAck(status=MessageAck.ACK_ACCEPTED)

    async def on_message(self, message: Message) -> MessageAck:
        """Gives an answer to the call that waits for it, and all else to handle_message()."""
        waiter = self._pending_requests.pop(message.reply_to, None) if message.reply_to else None
        if waiter is not None:
            if not waiter.done():
                waiter.set_result(message)
            return MessageAck(status=MessageAck.ACK_ACCEPTED)
        if message.type == TASK_RESPONSE and message.reply_to:
            self._pending_results.append(message)
            if len(self._pending_results) > _MOST_RESULTS:
                lost = self._pending_results.pop(0)
                _log.warning("more than %d results wait; %s is lost", _MOST_RESULTS, lost)
            return MessageAck(status=MessageAck.ACK_ACCEPTED)
        if message.type == CRON_TASK:
            message.payload = _with_task(message.payload)
        return await self.handle_message(message)

    # ---- Messages ----

    async def reply_to(
        self, original: Message, payload: bytes, type: str = TASK_RESPONSE
    ) -> None:
        """Answers a message, and ends it if this agent has kept it with ACK_QUEUED."""
        if self._core is not None:
            await self._core.send_message(
                to_pid=original.from_pid,
                type=type,
                payload=payload,
                reply_to=original.message_id,
            )

    def done(self, original: Message) -> bool:
        """Ends a message that was kept with ACK_QUEUED and wants no answer. False: it is over."""
        return self._post is not None and self._post.finish(original)

    async def send_and_wait(
        self,
        ctx: SyscallContext,
        to_pid: int,
        type: str,
        payload: bytes,
        timeout: float = 60.0,
    ) -> Message:
        """Sends, and waits for the answer. Other messages are handled meanwhile.

        TimeoutError: none has come. RuntimeError: none will come, because the receiver has rejected
        the message or has died for example.
        """
        return await self._exchange(ctx.send, to_pid, type, payload, timeout)

    async def send_and_wait_core(
        self, to_pid: int, type: str, payload: bytes, timeout: float = 60.0
    ) -> Message:
        """As send_and_wait(), outside of a task."""
        if self._core is None:
            raise RuntimeError("CoreClient not connected; HiveAgent.run() connects it")
        return await self._exchange(self._core.send_message, to_pid, type, payload, timeout)

    async def _exchange(
        self,
        send: Callable[..., Awaitable[str]],
        to_pid: int,
        type: str,
        payload: bytes,
        timeout: float,
    ) -> Message:
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        number = new_request(self._pid)
        request_id = text_of(number)
        waiter: asyncio.Future[Message] = loop.create_future()
        self._pending_requests[request_id] = waiter
        post = self._post
        if post is not None:
            post.expect(request_id, number, timeout)
        try:
            await send(to_pid=to_pid, type=type, payload=payload, reply_to=request_id)
            answer = None if post is None else await post.answer(request_id, waiter)
            if answer is not None and waiter.done() and self._desk is not None:
                self._desk.start(self._desk.take(answer))  # Another agent's answer was faster.
            elif answer is not None:
                await self.on_message(answer)
            if waiter.done():
                return waiter.result()
            async with asyncio.timeout_at(until):
                return await waiter
        except TimeoutError:
            raise TimeoutError(
                f"No reply from PID {to_pid} within {timeout}s (request_id={request_id})"
            ) from None
        finally:
            self._pending_requests.pop(request_id, None)
            if post is not None:
                post.forget(request_id)

    async def send_fire_and_forget(
        self, ctx: SyscallContext, to_pid: int, type: str, payload: bytes
    ) -> str:
        """Sends; drain_pending_results() will have the answer, under the id that this returns."""
        request_id = text_of(new_request(self._pid))
        await ctx.send(to_pid=to_pid, type=type, payload=payload, reply_to=request_id)
        return request_id

    def drain_pending_results(self) -> list[Message]:
        """The answers that no call has waited for, in the order in which they came."""
        found, self._pending_results = self._pending_results, []
        return found

    # ---- The life of the agent ----

    async def run(self, agent_addr: str = "", core_addr: str = "localhost:50051") -> None:
        """Attaches, calls on_init(), and serves until the end.

        It ends at stop(), at an order `shutdown` of an agent above, and with the hive. The
        addresses are ignored: an agent finds its hive by $BEELINE_HIVE.
        """
        await self.run_with(lambda: None)

    async def run_with(self, ready: Callable[[], None], hive: str = "") -> None:
        """As run(). `ready` is called once on_init() has returned."""
        attach = aio.attach(
            self._config.name or os.environ.get("BEELINE_NAME", ""),
            hive=hive,
            parent=self._setting("parent"),
            role=self._role or self._setting("role") or "worker",
        )
        self._ended = False
        async with attach as agent:
            self._role = (await agent.info()).role
            post = self._connect(agent)
            try:
                if await self._init():
                    ready()
                    await self._serve(agent)
            finally:
                self._stopping.clear()
                if not agent.closed:
                    post.put_back()
                    await agent.detach(_DRAIN)

    def _setting(self, name: str) -> str:
        default = os.environ.get(f"BEELINE_{name.upper()}", "")
        return self._config.metadata.get(name, "") or default

    async def _init(self) -> bool:
        """Calls on_init(). False: stop() was called meanwhile."""
        init = asyncio.create_task(self.on_init(self._config))
        stopping = asyncio.create_task(self._stopping.wait())
        both = (init, stopping)
        try:
            await asyncio.wait(both, timeout=self.init_timeout, return_when="FIRST_COMPLETED")
            if init.done():
                init.result()
                return True
        finally:
            init.cancel()
            stopping.cancel()
        if self._stopping.is_set():
            return False
        raise TimeoutError(
            f"on_init() has not returned within {self.init_timeout} s; do long work in a task "
            "that it starts, or raise init_timeout"
        )

    def stop(self, reason: str = "normal") -> None:
        """Makes run() end. Handlers that have begun get a few seconds."""
        self._reason = reason
        self._stopping.set()

    def _connect(self, agent: aio.Agent) -> Post:
        self._agent = agent
        self._pid, self._ppid = agent.pid, agent.parent
        self._config.name = self._config.name or agent.name
        self._post = Post(agent)
        self._core = CoreClient(pid=agent.pid)
        self._core.connect(agent, self._post)
        self._desk = Desk(self, agent, self._post)
        agent.accept_tasks(True)  # Those that come before it serves wait.
        return self._post

    async def _serve(self, agent: aio.Agent) -> None:
        assert self._desk is not None
        serving = asyncio.create_task(agent.serve(self._desk, concurrency=self.concurrency))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((serving, stopping), return_when="FIRST_COMPLETED")
            agent.stop_serving()
            await asyncio.wait((serving,), timeout=_GRACE)
        finally:
            stopping.cancel()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            await self.shut_down(self._reason)
        if not serving.cancelled():
            serving.result()

    async def shut_down(self, reason: str) -> bytes:
        """Calls on_shutdown(), once."""
        if self._ended:
            return b""
        self._ended = True
        known = reason if reason in REASONS else "normal"
        try:
            async with asyncio.timeout(_GRACE):
                return await self.on_shutdown(known) or b""
        except Exception:
            _log.exception("on_shutdown() failed")
            return b""

    async def do_task(self, task: Task, reports: Reports) -> TaskResult:
        """Gives a task to handle_task()."""
        ctx = SyscallContext(task.task_id, reports, self._core)
        self._last_ctx = ctx
        return await self.handle_task(task, ctx)

    def _make_servicer(self) -> Servicer:
        return Servicer(self)


def _with_task(payload: bytes) -> bytes:
    """The payload of a cron_task, with its description as `task` where it has none."""
    try:
        fields = read_json(payload)
    except ValueError:
        return payload
    if not isinstance(fields, dict) or "description" not in fields or "task" in fields:
        return payload
    return json.dumps({**fields, "task": fields["description"]}).encode()
