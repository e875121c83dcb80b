"""Attach in asyncio: a helper thread of the library takes the steps, and the loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from beeline import _core
from beeline._types import CONTROL_TIMEOUT, AttachOptions
from beeline.aio._agent import Agent
from beeline.aio._objects import Loan, Message, TaskRun

if TYPE_CHECKING:
    from typing import Unpack


def _tell(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


class Attach:
    """An attach that has not begun: `await` it, or use it in `async with`."""

    def __init__(self, name: str, options: AttachOptions) -> None:
        self._name = name
        self._options = options
        self._agent: Agent | None = None

    async def _run(self) -> Agent:
        loop = asyncio.get_running_loop()
        attaching = _core.Attaching(name=self._name, **self._options)
        try:
            ready = loop.create_future()
            loop.add_reader(attaching.fileno(), _tell, ready)
            try:
                await ready
            finally:
                loop.remove_reader(attaching.fileno())
            agent = attaching.finish(Agent, Message, Loan, TaskRun)
        except BaseException:
            del attaching  # The error holds this frame, which must not hold the name.
            raise
        agent._begin(self._options)
        return agent

    def __await__(self) -> Generator[Any, None, Agent]:
        return self._run().__await__()

    async def __aenter__(self) -> Agent:
        self._agent = await self._run()
        return self._agent

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._agent is not None:
            await self._agent.__aexit__(kind, error, trace)


def attach(name: str = "", **options: Unpack[AttachOptions]) -> Attach:
    """Joins a hive under a name, without blocking the loop; starts the coordinator on first use.

    Without a name the agent is temporary. An agent that attaches under the name of one whose
    process has ended goes on with its messages. Errors: AlreadyRunning (an agent of that name
    lives), NoAgent (the parent), Denied, InvalidArgument, NoCoordinator, TimeoutError.

    Await it, or write `async with beeline.attach("worker") as agent:`.
    """
    options.setdefault("control_timeout", CONTROL_TIMEOUT)
    return Attach(name, options)


def attach_blocking(name: str = "", **options: Unpack[AttachOptions]) -> Agent:
    """Does as attach() does, for code without a coroutine: it blocks this thread, and its loop."""
    options.setdefault("control_timeout", CONTROL_TIMEOUT)
    agent = _core.attach(Agent, Message, Loan, TaskRun, name=name, **options)
    agent._begin(options)
    return agent
