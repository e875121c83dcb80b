"""An orchestrator: it splits a job among its children, which work at the same time.

Run it:   BEELINE_NAME=boss python -m beeline.hive.runner --agent hive_orchestrator:Orchestrator &
          for i in 0 1 2; do BEELINE_PARENT=boss BEELINE_NAME=w-$i \\
            python -m beeline.hive.runner --agent hive_orchestrator:Worker & done
Ask it:   beeline request boss "1 * 2;3 * 4;5 * 6" --type task_request
"""

from __future__ import annotations

import asyncio
import json

import hive_model
from beeline.hive import (
    HiveAgent,
    Message,
    MessageAck,
    SyscallContext,
    Task,
    TaskResult,
)

_DEAD, _ZOMBIE = 4, 5


class Worker(HiveAgent):
    async def handle_task(self, task: Task, ctx: SyscallContext) -> TaskResult:
        await ctx.report_progress("at work")
        output = await hive_model.ask(task.description)
        return TaskResult(output=output, metadata={"worker": self.config.name})


class Orchestrator(HiveAgent):
    async def handle_message(self, message: Message) -> MessageAck:
        if message.type != "task_request":
            return MessageAck()
        parts = message.payload.decode().split(";")
        children = await self.core.list_children()
        workers = [child.pid for child in children if child.state not in (_DEAD, _ZOMBIE)]
        if not workers:
            return MessageAck(status=MessageAck.ACK_REJECTED, reply="there are no workers")
        results = await asyncio.gather(
            *(self._give(workers[i % len(workers)], part) for i, part in enumerate(parts))
        )
        return MessageAck(reply=json.dumps(results))

    async def _give(self, worker: int, part: str) -> str:
        """The result of one part, or the reason why there is none. A task is not done twice."""
        try:
            result = await self.core.execute_task(worker, part, timeout_seconds=60)
        except RuntimeError as error:
            return str(error)
        return result.output
