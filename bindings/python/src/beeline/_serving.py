"""Handlers of messages, and the results of handlers, for serve() of both faces."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from beeline._base import BaseMessage, BaseTaskRun
from beeline._errors import ClosedError, Reject
from beeline._types import SHUTDOWN, Ack, AckStatus, Notice, Outcome

log = logging.getLogger("beeline")

_F = TypeVar("_F", bound=Callable[..., Any])
_TYPE = "_beeline_type"


def on(type: str) -> Callable[[_F], _F]:
    """Marks a method of a Handler: it handles the messages of this type."""

    def mark(method: _F) -> _F:
        setattr(method, _TYPE, type)
        return method

    return mark


class Handler:
    """Handles all that comes to an agent: override some methods, give an instance to serve().

    In asyncio the methods may be coroutines. Methods marked with @beeline.on("type") get the
    messages of that type, on_message() all others.
    """

    _routes: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        own = {getattr(m, _TYPE): name for name, m in vars(cls).items() if hasattr(m, _TYPE)}
        cls._routes = {**cls._routes, **own}

    def on_start(self, agent: Any) -> Any:
        """Called before the first message."""

    def on_message(self, message: Any) -> Any:
        """Handles a message. The result is its fate: see beeline.Outcome."""
        raise Reject(f"no method of {type(self).__name__} is for messages of type {message.type!r}")

    def on_control(self, order: str, message: Any) -> Any:
        """Hears of an order of an agent above. After beeline.SHUTDOWN, serve() ends."""

    def on_notice(self, notice: Notice) -> Any:
        """Hears of the death of a child, or of the end of the hive."""

    def on_task(self, run: Any) -> Any:
        """Does a task and returns its result: see beeline.TaskOutcome."""

    def on_stop(self, reason: str) -> Any:
        """Called at the end: "stopped", "shutdown", "closed", "timeout" or "cancelled"."""

    def route(self, message: Any) -> Any:
        """Gives a message to the method that is for it."""
        name = self._routes.get(message.type)
        return self.on_message(message) if name is None else getattr(self, name)(message)


class FunctionHandler(Handler):
    """A function of a message, and perhaps one of a task, as a Handler."""

    def __init__(self, handler: Callable[[Any], Any], on_task: Callable[[Any], Any] | None) -> None:
        self._handler = handler
        self._on_task = on_task

    def on_message(self, message: Any) -> Any:
        return self._handler(message)

    def on_control(self, order: str, message: Any) -> Any:
        return self._handler(message) if order != "shutdown" else None

    def on_task(self, run: Any) -> Any:
        assert self._on_task is not None
        return self._on_task(run)


def handler_of(
    handler: Handler | Callable[[Any], Any], tasks: Callable[[Any], Any] | None
) -> Handler:
    if isinstance(handler, Handler):
        if tasks is not None:
            raise TypeError("a Handler does tasks in on_task(); give serve() no `tasks` beside it")
        return handler
    if not callable(handler):
        raise TypeError(f"a handler is a function or a beeline.Handler, not {handler!r}")
    return FunctionHandler(handler, tasks)


def does_tasks(handler: Handler) -> bool:
    if isinstance(handler, FunctionHandler):
        return handler._on_task is not None
    return type(handler).on_task is not Handler.on_task


def begin(handler: Handler, message: BaseMessage) -> Any:
    """Gives a message or an order to its method. The result may be awaitable."""
    if message.is_control:
        return handler.on_control(message.type, message)
    return handler.route(message)


def is_shutdown(message: BaseMessage) -> bool:
    """Whether it is the order that ends serve()."""
    return message.is_control and message.type == SHUTDOWN


def conclude(message: BaseMessage, outcome: Outcome) -> None:
    """Ends a message as its handler says."""
    if not message.held:
        return
    if not isinstance(outcome, Ack):
        message.done(outcome or "")
    elif outcome.status == AckStatus.ACCEPTED:
        message.done(outcome.reply)
    elif outcome.status == AckStatus.QUEUED:
        message.defer()
    elif outcome.status == AckStatus.REJECTED:
        reply = outcome.reply
        message.reject(reply if isinstance(reply, str) else reply.decode(errors="replace"))
    else:
        message.escalate()


def give_up(handled: BaseMessage | BaseTaskRun, error: BaseException) -> None:
    """Ends a message or a task after an error of its handler: requeues, rejects or fails it.

    An order beeline.SHUTDOWN is done: serve() follows it all the same, and the next life of the
    agent must not end by it, too.
    """
    if isinstance(error, Exception) and not isinstance(error, (Reject, ClosedError)):
        log.error("a handler failed for %r", handled, exc_info=error)
    try:
        if handled.held:
            _end(handled, error)
    except BufferError:
        # The frames of the error still hold views. One that lives elsewhere gives the message back
        # at its own end.
        traceback.clear_frames(error.__traceback__)
        with contextlib.suppress(BufferError):
            _end(handled, error)


def _end(handled: BaseMessage | BaseTaskRun, error: BaseException) -> None:
    has_failed = isinstance(error, Exception) and not isinstance(error, Reject)
    if has_failed and isinstance(handled, BaseMessage) and is_shutdown(handled):
        handled.done()
    else:
        handled._fail(error)
