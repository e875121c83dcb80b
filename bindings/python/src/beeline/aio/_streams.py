"""Iterators over the events of an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from beeline._base import put_back, set_current
from beeline._errors import ClosedError
from beeline._types import Filter
from beeline.aio._objects import Message

if TYPE_CHECKING:
    from beeline.aio._agent import Agent

_T = TypeVar("_T")
_MOST_IN_A_ROW = 64


class Stream(AsyncIterator[_T], Generic[_T]):
    """An iterator that ends when the agent is closed or the hive goes down.

    A cancelled wait loses nothing, and the iterator can be used again.
    """

    def __init__(self, following: Callable[[], Awaitable[_T]]) -> None:
        self._following = following

    async def __anext__(self) -> _T:
        try:
            return await self._following()
        except ClosedError:
            raise StopAsyncIteration from None


class MessageStream(AsyncIterator[Message]):
    """Messages, fetched a few at a time; otherwise as Stream.

    Messages that the loop has not seen are put back at its end, and none counts an attempt.
    """

    def __init__(self, agent: Agent, batch: int, filter: Filter) -> None:
        self._agent = agent
        self._batch = batch
        self._filter = filter
        self._fetched: list[Message] = []
        self._in_a_row = 0

    async def __anext__(self) -> Message:
        self._in_a_row += 1
        if self._in_a_row >= _MOST_IN_A_ROW:
            self._in_a_row = 0
            await asyncio.sleep(0)  # A flood of messages must not keep the loop.
        while self._fetched and not self._fetched[-1].held:
            self._fetched.pop()
        if not self._fetched:
            try:
                self._fetched = await self._agent._receive_batch(self._batch, self._filter)
            except ClosedError:
                raise StopAsyncIteration from None
            self._fetched.reverse()
        message = self._fetched.pop()
        set_current(message)
        return message

    def __del__(self) -> None:
        put_back(self._fetched)
