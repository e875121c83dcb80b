"""A git monitor: it looks for new commits when it is told to, and tells its parent of them.

Run it:   BEELINE_NAME=monitor BEELINE_PARENT=queen GIT_REPOSITORY=. \\
            python -m beeline.hive.runner --agent hive_git_monitor:GitMonitor &
Wake it:  beeline send monitor '{"description": "look"}' --type cron_task    # from cron(8)
"""

from __future__ import annotations

import asyncio
import os

from beeline.hive import AgentConfig, HiveAgent, Message, MessageAck


class GitMonitor(HiveAgent):
    async def on_init(self, config: AgentConfig) -> None:
        self._repository = os.environ.get("GIT_REPOSITORY", ".")
        self._seen = await self._git("rev-parse", "HEAD")

    async def handle_message(self, message: Message) -> MessageAck:
        if message.type != "cron_task":
            return MessageAck()
        head = await self._git("rev-parse", "HEAD")
        news = await self._git("log", "--format=%h %s", f"{self._seen}..{head}")
        self._seen = head
        if news:
            await self.core.escalate(f"new commits:\n{news}")
        await self.reply_to(message, f"{len(news.splitlines())} new".encode(), type="cron_result")
        return MessageAck()

    async def _git(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "git", "-C", self._repository, *words, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"git {words[0]} exits with {process.returncode}")
        return output.decode().strip()
