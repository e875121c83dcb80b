"""The links of an agent in asyncio: peers by name, waits for room, the registry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from beeline._base import BaseAgent, To, agent_info
from beeline._core import Peer
from beeline._errors import Full, PeerDead, RateLimited
from beeline._registry import children_of, find_named, siblings_of
from beeline._types import AgentInfo, AttachOptions, nanoseconds
from beeline.aio._driver import Driver, Line
from beeline.aio._objects import Loan, Message, TaskRun

_T = TypeVar("_T")


class LinkedAgent(BaseAgent[Message, Loan, TaskRun]):
    """Finds peers without blocking the loop, and knows them by name or pid from then on."""

    _driver: Driver
    _lookups: dict[int | str, asyncio.Task[Peer]]

    def _begin(self, options: AttachOptions) -> None:
        super()._begin(options)
        self._driver = Driver(self, spins=options.get("wait") == "spin")
        self._lookups = {}

    def _touch(self) -> None:
        self._driver.changed = True
        self._driver.touch()

    async def _next(
        self, line: Line, take: Callable[[], _T | None], timeout: float | None, name: str
    ) -> _T:
        self._driver.enter()
        found = take()
        if found is None:
            return await self._driver.until(line, take, timeout, name)
        self._touch()
        return found

    async def _patiently(
        self, to: To, timeout: float | None, attempt: Callable[[Peer], _T]
    ) -> _T:
        # Tries until there is room, and once more if the name has got another owner.
        loop = self._driver.enter()
        peer = self._known(to) or await self.peer(to)
        until = None if timeout is None else loop.time() + timeout
        again = found_again = False
        try:
            while True:
                try:
                    return attempt(peer)
                except PeerDead:
                    if found_again or isinstance(to, Peer):
                        raise
                    self._peers.pop(to, None)
                    peer = await self.peer(to)
                    found_again = True
                except (Full, RateLimited):
                    if until is None or not await self._driver.room(peer, until, again):
                        raise
                    again = True
        finally:
            self._driver.touch()
            if again:
                self._driver.pass_on(peer)

    async def peer(self, to: To) -> Peer:
        """The peer of a name or a pid; opens the link on first use. NoAgent, PeerDead, Denied."""
        loop = self._driver.enter()
        if isinstance(to, Peer):
            return to
        if to in self._peers:
            return self._peers[to]
        search = self._lookups.get(to)
        if search is None:
            search = self._lookups[to] = loop.create_task(self._find_peer(to, 0.0))
            search.add_done_callback(partial(self._found, to))
        return await asyncio.shield(search)

    def _found(self, to: int | str, search: asyncio.Task[Peer]) -> None:
        self._lookups.pop(to, None)
        if not search.cancelled():
            search.exception()  # All that waited for it may have been cancelled.

    async def wait_for(self, name: str, timeout: float | None = None) -> Peer:
        """Waits until an agent of that name is there. NoAgent: the time is over."""
        self._driver.enter()
        return await self._find_peer(name, timeout)

    async def _find_peer(self, to: int | str, timeout: float | None) -> Peer:
        peer: Peer = await self._call(
            self.find_peer_start(to, nanoseconds(timeout)), self._driver.peers
        )
        self._peers[to] = peer
        return peer

    async def _call(self, call: int, waiting: dict[int, asyncio.Future[Any]]) -> Any:
        try:
            return await self._driver.result(waiting, call)
        except asyncio.CancelledError:
            if not self.closed:
                self.forget_call(call)
                self._driver.touch()
            raise

    async def _agents(self) -> list[AgentInfo]:
        self._driver.enter()
        return [agent_info(a) for a in await self._call(self.list_start(), self._driver.lists)]

    async def siblings(self) -> list[AgentInfo]:
        """The other children of this agent's parent, by pid."""
        return siblings_of(await self._agents(), self.pid, self.parent)

    async def children(self, recursive: bool = False) -> list[AgentInfo]:
        """The children of this agent, or all its descendants, by pid."""
        return children_of(await self._agents(), self.pid, recursive)

    async def info(self, pid: int = 0) -> AgentInfo:
        """One agent; 0: this one."""
        return find_named(await self._agents(), str(pid or self.pid))

    async def find(self, name: str) -> AgentInfo:
        """The agent that a name, or a pid in decimal, means."""
        return find_named(await self._agents(), name)
