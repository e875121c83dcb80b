"""An assistant: its model may say that another agent does a task; then it delegates by name.

Run it:   BEELINE_NAME=assistant python -m beeline.hive.runner --agent hive_assistant:Assistant &
Ask it:   beeline request assistant "queen, please: 6 * 7"
"""

from __future__ import annotations

import json
import re

import hive_model
from beeline.hive import HiveAgent, Message, MessageAck

_ORDER = re.compile(r"DELEGATE:\s*(\{.*\})")


class Assistant(HiveAgent):
    async def handle_message(self, message: Message) -> MessageAck:
        """Answers with the acknowledgement: in Beeline its text goes to the agent that asked."""
        said = await self._think(message.payload.decode())
        order = _ORDER.search(said)
        if order is not None:
            wish = json.loads(order.group(1))
            said = await self._delegate(wish["to"], wish["task"])
        return MessageAck(reply=said)

    async def _think(self, prompt: str) -> str:
        """A prompt that begins with the name of an agent is for that agent."""
        name, comma, rest = prompt.partition(", please: ")
        if comma:
            return "DELEGATE: " + json.dumps({"to": name, "task": rest})
        return await hive_model.ask(prompt)

    async def _delegate(self, name: str, task: str) -> str:
        pids = {}
        for sibling in await self.core.list_siblings():
            if sibling["state"] not in ("dead", "zombie"):
                pids[sibling["name"].partition("@")[0]] = sibling["pid"]
                pids[sibling["name"]] = sibling["pid"]
        if name not in pids:
            return f"nobody here is called {name}"
        payload = json.dumps({"task": task, "trace_id": f"{self.pid}"}).encode()
        reply = await self.send_and_wait_core(pids[name], "task_request", payload, timeout=30)
        result = json.loads(reply.payload)
        return str(result.get("output") or result.get("error"))
