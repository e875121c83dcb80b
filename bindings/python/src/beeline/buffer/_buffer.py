"""class Buffer for asyncio."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from beeline._errors import NoAgent
from beeline.aio._agent import Agent
from beeline.aio._objects import Message
from beeline.aio._streams import Stream
from beeline.buffer._forms import (
    BATCH,
    LOOK_EVERY,
    BaseBatch,
    Call,
    PutOptions,
    Receipt,
    Status,
    Task,
    acknowledge_call,
    acknowledged_of,
    next_call,
    put_call,
    receipt_of,
    status_call,
    status_of,
    tasks_call,
    tasks_of,
)

if TYPE_CHECKING:
    from typing import Unpack

_PATIENCE = 60.0


class Wish:
    """The batch that a loop has asked for and not got yet."""

    __slots__ = ("buffer",)

    def __init__(self) -> None:
        self.buffer = 0  # pid of the buffer that owes it; 0: none is asked for


class Batch(BaseBatch[Message]):
    __slots__ = ()
    __doc__ = BaseBatch.__doc__


class Buffer:
    """Calls of an agent to a buffer. `name`: of the agent that keeps the messages.

    Errors of all: those of Agent.request(), NoAgent if no buffer runs under this name,
    InvalidArgument (a value and its limit), Full (the disk of the buffer: nothing was kept),
    TimeoutError, ProtocolError (another program has the name). Calls without a timeout wait up to
    60 s.
    """

    def __init__(self, agent: Agent, name: str = "buffer") -> None:
        if not isinstance(agent, Agent):
            raise TypeError(
                f"{agent!r} is no agent of asyncio; one of beeline.sync has beeline.buffer.sync"
            )
        self._agent = agent
        self._name = name
        self._waiting = 0  # loops that have asked for a batch

    async def _ask(self, call: Call, timeout: float = _PATIENCE) -> dict[str, Any]:
        return call.read(
            await self._agent.request(
                self._name, call.payload, timeout=timeout, **call.options
            )
        )

    async def put(
        self,
        channel: str,
        payload: object,
        *,
        timeout: float = _PATIENCE,
        **options: Unpack[PutOptions],
    ) -> Receipt:
        """Returns once the message is on the disk. A payload that is no text is kept as JSON.

        The call may be repeated with the same key after any error.
        """
        return receipt_of(await self._ask(put_call(channel, payload, options), timeout))

    async def next(self, count: int = 1) -> None:
        """Asks for `count` more batches, 1 to 64. Each comes as an ordinary message of the type
        BATCH as soon as there is one; its done() ends the batch.

        An agent has at most 64 that it has asked for and not got: the buffer drops more in
        silence.
        """
        call = next_call(count)
        await self._agent.send(self._name, call.payload, timeout=_PATIENCE, **call.options)

    def read(self, message: Message) -> Batch:
        """The batch of a message of the type BATCH. InvalidArgument: it has none."""
        return Batch(message)

    def batches(self) -> Stream[Batch]:
        """Iterates over batches until the agent is closed or the hive goes down.

        It asks for one each time the loop comes back for it, so that the loop has one in hand at a
        time. Batches that are in the inbox come first: one of an earlier life of this agent, or the
        one that a cancelled wait had asked for. Several loops share the batches.
        """
        wish = Wish()
        return Stream(lambda: self._following(wish))

    async def _following(self, wish: Wish) -> Batch:
        # While other loops wait, a batch in the inbox is one of theirs.
        message = None if self._waiting else self._agent.try_receive(type=BATCH)
        if message is None:
            self._waiting += 1
            try:
                message = await self._receive(wish)
            finally:
                self._waiting -= 1
        wish.buffer = 0
        return Batch(message)

    async def _receive(self, wish: Wish) -> Message:
        if not wish.buffer:
            await self._ask_for(wish)
        while True:
            try:
                return await self._agent.receive(timeout=LOOK_EVERY, type=BATCH)
            except TimeoutError:
                with contextlib.suppress(NoAgent):
                    if (await self._agent.find(self._name)).pid != wish.buffer:
                        # The buffer that was asked is gone for good, and this one knows nothing.
                        await self._ask_for(wish)

    async def _ask_for(self, wish: Wish) -> None:
        await self.next()
        wish.buffer = (await self._agent.peer(self._name)).pid

    async def acknowledge(self, batch: int) -> bool:
        """Ends a batch by its number, also after a restart of the buffer. False: it had ended.

        InvalidArgument: it was never handed out, or is so old that it was removed.
        """
        return acknowledged_of(await self._ask(acknowledge_call(batch)))

    async def status(self) -> Status:
        return status_of(await self._ask(status_call()))

    async def tasks(self, status: str = "") -> list[Task]:
        """The newest tasks first, at most 1,000. An empty `status` means all."""
        return tasks_of(await self._ask(tasks_call(status)))
