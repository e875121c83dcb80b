"""The part of the original's server that subclasses call by hand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beeline.hive.agent import HiveAgent

REASONS = ("normal", "parent_died", "budget_exceeded", "migration", "user_request")
_GRACE = 2


@dataclass
class ShutdownReply:
    """The state that an agent leaves behind."""

    state_snapshot: bytes = b""


class Servicer:
    """Ends an agent as its server did."""

    def __init__(self, owner: HiveAgent) -> None:
        self._owner = owner

    async def Shutdown(self, request: Any, context: Any) -> ShutdownReply:
        """Runs on_shutdown() with the reason of the request, a word or its number, and ends the
        server."""
        reason = getattr(request, "reason", 0)
        word = REASONS[reason] if isinstance(reason, int) else str(reason)
        snapshot = await self._owner.on_shutdown(word)
        if self._owner._server is not None:
            asyncio.ensure_future(self._owner._server.stop(grace=_GRACE))
        return ShutdownReply(snapshot or b"")
