"""The objects that an agent of asyncio gives: messages, loans, tasks."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from beeline import _core
from beeline._base import BaseLoan, BaseMessage, BaseTaskRun
from beeline._types import MessageId, Payload, SendOptions

if TYPE_CHECKING:
    from typing import Unpack

    from typing_extensions import Self

    from beeline.aio._agent import Agent


class Message(BaseMessage):
    __slots__ = ()
    __doc__ = BaseMessage.__doc__

    if TYPE_CHECKING:

        @property
        def agent(self) -> Agent: ...

    @property
    def cancelled(self) -> bool:
        """True once its sender has taken it back, or the lease has ended."""
        found: bool = _core.Message.cancelled.__get__(self)
        self.agent._touch()
        return found

    def done(self, reply: Payload = "") -> None:
        """Handled. `reply` answers a request that got no reply."""
        _core.Message.done(self, reply)
        self.agent._touch()

    def requeue(self) -> None:
        """Puts it back to its place in the inbox, with one attempt more."""
        _core.Message.requeue(self)
        self.agent._touch()

    def put_back(self) -> None:
        """Puts it back as if it had not been handed out."""
        _core.Message.put_back(self)
        self.agent._touch()

    def reject(self, reason: Payload = "") -> None:
        """Makes it a dead letter."""
        _core.Message.reject(self, reason)
        self.agent._touch()

    def defer(self) -> None:
        """Takes it over: the lease goes on until reply() ends it."""
        _core.Message.defer(self)
        self.agent._touch()

    def escalate(self) -> None:
        """Hands it to the parent of this agent, then ends it."""
        _core.Message.escalate(self)
        self.agent._touch()

    async def reply(
        self, payload: Payload, *, timeout: float | None = None, **options: Unpack[SendOptions]
    ) -> MessageId:
        """Answers the message, whose lease goes on unless it was deferred. As Agent.send()."""
        return await self.agent._patiently(
            self.sender, timeout, lambda _: self.reply_nowait(payload, **options)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self.__exit__(kind, error, trace)


class Loan(BaseLoan):
    __slots__ = ()
    __doc__ = BaseLoan.__doc__

    if TYPE_CHECKING:

        @property
        def agent(self) -> Agent: ...

    async def send(
        self, *, timeout: float | None = None, **options: Unpack[SendOptions]
    ) -> MessageId:
        """Sends it. As Agent.send(); after Full it can be sent again."""
        self.agent._inherit(options)
        return await self.agent._patiently(
            self.peer, timeout, lambda _: self.send_nowait(**options)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.__exit__(kind, error, trace)


class TaskRun(BaseTaskRun):
    __slots__ = ()
    __doc__ = BaseTaskRun.__doc__

    if TYPE_CHECKING:

        @property
        def agent(self) -> Agent: ...

    @property
    def cancelled(self) -> bool:
        """True once nobody waits for the result any more."""
        found: bool = _core.TaskRun.cancelled.__get__(self)
        self.agent._touch()
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        found = self.__exit__(kind, error, trace)
        self.agent._touch()
        return found
