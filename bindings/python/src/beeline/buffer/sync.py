"""The durable buffer without asyncio: the names of `beeline.buffer`, and the calls wait."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from beeline._base import set_current
from beeline._errors import ClosedError, NoAgent
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
from beeline.sync import Agent, Message

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["Batch", "Buffer"]

_PATIENCE = 60.0


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
                f"{agent!r} is no agent of beeline.sync; one of asyncio has beeline.buffer"
            )
        self._agent = agent
        self._name = name
        self._asked = 0  # pid of the buffer that owes a batch to batches()

    def _ask(self, call: Call, timeout: float = _PATIENCE) -> dict[str, Any]:
        return call.read(
            self._agent.request(
                self._name, call.payload, timeout=timeout, **call.options
            )
        )

    def put(
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
        return receipt_of(self._ask(put_call(channel, payload, options), timeout))

    def next(self, count: int = 1) -> None:
        """Asks for `count` more batches, 1 to 64. Each comes as an ordinary message of the type
        BATCH as soon as there is one; its done() ends the batch.

        An agent has at most 64 that it has asked for and not got: the buffer drops more in
        silence.
        """
        call = next_call(count)
        self._agent.send(self._name, call.payload, timeout=_PATIENCE, **call.options)

    def read(self, message: Message) -> Batch:
        """The batch of a message of the type BATCH. InvalidArgument: it has none."""
        return Batch(message)

    def batches(self) -> Iterator[Batch]:
        """Iterates over batches until the agent is closed or the hive goes down.

        It asks for one each time the loop comes back for it, so that the loop has one in hand at a
        time. Batches that are in the inbox come first: one of an earlier life of this agent, or the
        one that an interrupted wait had asked for.
        """
        with contextlib.suppress(ClosedError):
            while True:
                batch = self._following()
                set_current(batch.message)
                yield batch
                del batch  # one that the loop has dropped goes back

    def _following(self) -> Batch:
        message = self._agent.try_receive(type=BATCH)
        if message is None:
            if not self._asked:
                self.next()
                self._asked = self._agent.peer(self._name).pid
            message = self._receive()
        self._asked = 0
        return Batch(message)

    def _receive(self) -> Message:
        while True:
            try:
                return self._agent.receive(timeout=LOOK_EVERY, type=BATCH)
            except TimeoutError:
                with contextlib.suppress(NoAgent):
                    if self._agent.find(self._name).pid != self._asked:
                        # The buffer that was asked is gone for good, and this one knows nothing.
                        self.next()
                        self._asked = self._agent.peer(self._name).pid

    def acknowledge(self, batch: int) -> bool:
        """Ends a batch by its number, also after a restart of the buffer. False: it had ended.

        InvalidArgument: it was never handed out, or is so old that it was removed.
        """
        return acknowledged_of(self._ask(acknowledge_call(batch)))

    def status(self) -> Status:
        return status_of(self._ask(status_call()))

    def tasks(self, status: str = "") -> list[Task]:
        """The newest tasks first, at most 1,000. An empty `status` means all."""
        return tasks_of(self._ask(tasks_call(status)))
