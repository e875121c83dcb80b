"""The exceptions of the package: one class for each code of the library.

A wait whose time was over raises the built-in TimeoutError.
"""

from __future__ import annotations

from typing import ClassVar


class BeelineError(Exception):
    """The base of all errors of this package.

    `code` is the word for programs, `text` the words for people: the event, the place, the limit,
    the value, and the next step. `errno` is that of the system call that failed, or 0.
    """

    code: ClassVar[str] = "error"
    errno: int
    limit: int

    def __init__(self, text: str = "", errno: int = 0, limit: int = 0) -> None:
        super().__init__(text)
        self.errno = errno
        self.limit = limit

    @property
    def text(self) -> str:
        """The words for people."""
        return str(self.args[0])


class SystemCallError(BeelineError):
    """A system call failed."""

    code = "system"


class InvalidArgument(BeelineError, ValueError):
    """An argument that the caller can correct."""

    code = "invalid"


class NoCoordinator(BeelineError):
    """No process listens on the hive's socket."""

    code = "no_coordinator"


class AlreadyRunning(BeelineError):
    """Another process holds the name."""

    code = "already_running"


class SendError(BeelineError):
    """The message was not sent. Each status of a send has a class of its own."""


class NoAgent(SendError):
    """No agent has that name or pid."""

    code = "no_agent"


class NoRoute(SendError):
    """No route leads there; or this agent has left; or a reply to a message that has ended."""

    code = "no_route"


class Denied(SendError):
    """A rule or a permission forbids it; the text names the rule."""

    code = "denied"


class Full(SendError):
    """The lane has no room now. Give `timeout` to wait for room."""

    code = "full"


class TooBig(SendError):
    """Larger than `limit` bytes. A wait does not help."""

    code = "too_big"


class PeerDead(SendError):
    """The receiver is finally dead and has not taken the message."""

    code = "peer_dead"


class PeerDeadTaken(BeelineError):
    """The receiver died after it took the message, so it may have acted on it."""

    code = "peer_dead_taken"


class Loop(SendError):
    """The message is more than max_hops messages away from its origin."""

    code = "loop"


class NoMemory(SendError):
    """The system gave no memory for the payload; nothing was changed."""

    code = "no_memory"


class RateLimited(SendError):
    """More than the send_rate of this agent for this peer."""

    code = "rate_limited"


class BadSegment(BeelineError):
    """A shared segment is not as promised."""

    code = "bad_segment"


class WrongVersion(BeelineError):
    """The two sides speak different layouts or protocols."""

    code = "version"


class ProtocolError(BeelineError):
    """The other side broke the rules of the wire."""

    code = "protocol"


class ClosedError(BeelineError):
    """The hive went down, or this agent was closed, or the object has ended."""

    code = "closed"


class NoticeWaits(BeelineError):
    """A notice waits, and the caller asked to be told."""

    code = "notice"


class Unanswered(BeelineError):
    """The receiver finished a request and did not answer it."""

    code = "unanswered"


class Rejected(BeelineError):
    """The request became a dead letter of its receiver; the text says why."""

    code = "rejected"


class TaskFailed(BeelineError):
    """The handler of a task failed; the text says why."""

    code = "failed"


class WrongThread(BeelineError, RuntimeError):
    """An agent, or an object of it, was used outside the thread that attached the agent."""

    code = "wrong_thread"


class WrongLoop(BeelineError, RuntimeError):
    """An agent was used in a second event loop while its first one lives."""

    code = "wrong_loop"


class ForkedError(BeelineError, RuntimeError):
    """An agent was used in a child made by fork(). Attach in the child."""

    code = "forked"


class Reject(Exception):
    """A handler raises this to make its message a dead letter. The text is the reason."""


_OF_CODE: dict[int, type[BeelineError]] = {
    1: SystemCallError,
    2: InvalidArgument,
    3: NoCoordinator,
    4: AlreadyRunning,
    5: NoAgent,
    6: NoRoute,
    7: Denied,
    9: Full,
    10: TooBig,
    11: PeerDead,
    12: PeerDeadTaken,
    13: Loop,
    14: NoMemory,
    15: BadSegment,
    16: WrongVersion,
    17: ProtocolError,
    18: ClosedError,
    19: NoticeWaits,
    20: Unanswered,
    21: Rejected,
    22: TaskFailed,
    23: RateLimited,
}
_TIMEOUT = 8
OF_WORD = {kind.code: kind for kind in _OF_CODE.values()}


def make(code: int, errno: int, text: str, limit: int) -> Exception:
    """The exception for a code of the library. For the extension."""
    if code == _TIMEOUT:
        return TimeoutError(text)
    return _OF_CODE.get(code, BeelineError)(text, errno, limit)
