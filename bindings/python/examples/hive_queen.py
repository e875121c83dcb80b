"""A queen: she takes tasks over at once, works on them in the background, and answers later.

Run her:  BEELINE_NAME=queen python -m beeline.hive.runner --agent hive_queen:Queen &
Ask her:  beeline request queen '{"description": "6 * 7"}' --type task_request
"""

from __future__ import annotations

import asyncio
import json

import hive_model
from beeline.hive import HiveAgent, Message, MessageAck


class Queen(HiveAgent):
    def __init__(self) -> None:
        super().__init__()
        self._at_work: set[asyncio.Task[None]] = set()

    async def handle_message(self, message: Message) -> MessageAck:
        if message.type not in ("task_request", "cron_task"):
            return MessageAck(status=MessageAck.ACK_ACCEPTED)
        try:
            request = json.loads(message.payload)
            description = request.get("description") or request.get("task") or ""
        except (ValueError, AttributeError):
            return MessageAck(status=MessageAck.ACK_REJECTED, reply="the payload is no JSON object")
        work = asyncio.create_task(self._work(message, description))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        # Beeline keeps the message in hand until the answer. If the queen dies, it comes again.
        return MessageAck(status=MessageAck.ACK_QUEUED)

    async def _work(self, message: Message, description: str) -> None:
        result: dict[str, object] = {"error": "empty task", "exit_code": 1}
        if description:
            result = {"exit_code": 0, "output": await hive_model.ask(description)}
        await self.reply_to(message, json.dumps(result).encode())
