"""The calls of an agent in asyncio about processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from beeline._base import To
from beeline._processes import (
    STEWARD,
    Ask,
    Child,
    ChildExit,
    ChildInfo,
    SpawnOptions,
    ask_to_kill,
    ask_to_list,
    ask_to_signal,
    ask_to_sleep,
    ask_to_spawn,
    ask_to_wait,
    ask_to_wake,
    child_of,
    children_of,
    exit_of,
    killed_of,
    state_of,
)
from beeline.aio._sending import SendingAgent

if TYPE_CHECKING:
    from typing import Unpack


class ProcessAgent(SendingAgent):
    """Starts children, stops and ends them, and waits for their ends."""

    async def _ask_steward(self, ask: Ask) -> dict[str, Any]:
        return ask.read(
            await self.request(STEWARD, ask.payload, timeout=ask.timeout, **ask.options)
        )

    async def spawn(
        self, name: str, command: Sequence[str], **options: Unpack[SpawnOptions]
    ) -> Child:
        """Starts a child, and returns once it has attached. See SpawnOptions.

        The process finds its place in the hive by itself: attach() without a name. Errors: Denied
        (the rule), InvalidArgument, NoAgent (the parent), Full, SystemCallError (its start). If it
        ends before it is ready, the text has the last lines of its output.
        """
        return child_of(await self._ask_steward(ask_to_spawn(name, command, options)))

    async def kill(self, child: To, recursive: bool = True) -> list[int]:
        """Ends a child and all its descendants, the lowest first; returns the pids.

        Without `recursive` only a child without living children is ended.
        """
        return killed_of(await self._ask_steward(ask_to_kill(child, recursive)))

    async def wait(self, child: To, timeout: float | None = 60.0) -> ChildExit:
        """Waits for the end of a child. TimeoutError: it has not ended."""
        return exit_of(await self._ask_steward(ask_to_wait(child, timeout)))

    async def processes(self, recursive: bool = False) -> list[ChildInfo]:
        """The children that the steward has started for this agent, or below it."""
        return children_of(await self._ask_steward(ask_to_list(recursive)))

    async def signal(self, child: To, signal: str | int) -> str:
        """Sends a signal to a child: TERM, KILL, STOP, CONT, HUP, INT, USR1 or USR2.

        Constants of the module signal will do, too. Returns the state of the child afterwards,
        after KILL once its process has ended. A sleeping child takes other signals when it is
        woken. PeerDead: it has ended, and no signal brings it back.
        """
        return state_of(await self._ask_steward(ask_to_signal(child, signal)))

    async def sleep(self, child: To) -> str:
        """Stops the process of a child: its messages wait. Does nothing if it sleeps."""
        return state_of(await self._ask_steward(ask_to_sleep(child)))

    async def wake(self, child: To) -> str:
        """Lets a sleeping child run on; returns its state. InvalidArgument: it does not sleep."""
        return state_of(await self._ask_steward(ask_to_wake(child)))
