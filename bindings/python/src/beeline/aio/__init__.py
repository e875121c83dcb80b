"""Beeline for asyncio. `import beeline` gives the same names.

An agent belongs to one thread and to the event loop that uses it first. Another thread gets
WrongThread, another loop WrongLoop; send_threadsafe() is for other threads. Each call returns at
once or is a coroutine that waits without blocking the loop. Any wait may be cancelled: nothing is
lost by it, and no message counts an attempt for it. Times are seconds.
"""

from beeline.aio._agent import Agent
from beeline.aio._attach import Attach, attach, attach_blocking
from beeline.aio._objects import Loan, Message, TaskRun
from beeline.aio._streams import MessageStream, Stream

__all__ = [
    "Agent",
    "Attach",
    "Loan",
    "Message",
    "MessageStream",
    "Stream",
    "TaskRun",
    "attach",
    "attach_blocking",
]
