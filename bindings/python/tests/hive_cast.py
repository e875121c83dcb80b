"""Agents that the tests of beeline.hive play with."""

from __future__ import annotations

import asyncio
import json
import os
import time

from beeline.hive import (
    AgentConfig,
    HiveAgent,
    Message,
    MessageAck,
    SyscallContext,
    Task,
    TaskResult,
)


class Probe(HiveAgent):
    """Keeps what it gets, and answers nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[Message] = []
        self.came = asyncio.Event()

    async def handle_message(self, message: Message) -> MessageAck:
        self.got.append(message)
        self.came.set()
        return MessageAck()

    async def next(self) -> Message:
        while not self.got:
            self.came.clear()
            await self.came.wait()
        return self.got.pop(0)


class Echo(HiveAgent):
    """Answers with the payload: after as many seconds as it says, by the id that the type says."""

    async def handle_message(self, message: Message) -> MessageAck:
        way, _, word = message.type.partition(":")
        await asyncio.sleep(float(word or 0))
        if way == "by-request-id":
            await self.core.send_message(
                message.from_pid,
                type="task_response",
                payload=message.payload,
                reply_to=message.reply_to,
            )
        elif way == "by-ack":
            return MessageAck(reply=message.payload.decode())
        elif way == "plain":
            await self.reply_to(message, message.payload, type="notification")
        else:
            await self.reply_to(message, message.payload)
        return MessageAck()


class Judge(HiveAgent):
    """Acknowledges with the status that the payload names."""

    async def handle_message(self, message: Message) -> MessageAck:
        return MessageAck(status=int(message.payload), reply="the judge has spoken")


class Hand(HiveAgent):
    """Does tasks: the description says which."""

    async def handle_task(self, task: Task, ctx: SyscallContext) -> TaskResult:
        word, _, rest = task.description.partition(" ")
        if word == "sleep":
            for step in range(3):
                await ctx.report_progress(f"step {step}", 100 * step / 3)
            await asyncio.sleep(float(rest))
        elif word == "raise":
            raise ValueError(rest)
        elif word == "exit":
            return TaskResult(exit_code=int(rest), output="on purpose")
        elif word == "echo":
            return TaskResult(output=json.dumps({**vars(task), "context": task.context.decode()}))
        elif word == "large":
            return TaskResult(output="x" * (100 << 20))
        elif word == "wrong":
            return {"output": "no TaskResult"}  # type: ignore[return-value]
        return TaskResult(0, rest or str(os.getpid()), {"a": "1"}, {"m": self.config.name})


class Thorn(HiveAgent):
    """Raises in every hook, but for on_init()."""

    async def handle_message(self, message: Message) -> MessageAck:
        raise RuntimeError("handle_message")

    async def handle_task(self, task: Task, ctx: SyscallContext) -> TaskResult:
        raise RuntimeError("handle_task")

    async def on_shutdown(self, reason: str) -> bytes | None:
        raise RuntimeError("on_shutdown")


class Stillborn(HiveAgent):
    """Raises in on_init()."""

    async def on_init(self, config: AgentConfig) -> None:
        raise RuntimeError("on_init")


class Sleeper(HiveAgent):
    """Does not return from on_init()."""

    init_timeout = float(os.environ.get("PATIENCE", "0.5"))

    async def on_init(self, config: AgentConfig) -> None:
        if os.environ.get("BLOCKS"):
            time.sleep(3600)
        await asyncio.Event().wait()


class Chatty(HiveAgent):
    """Prints before it is ready, and more than a pipe holds after that."""

    async def on_init(self, config: AgentConfig) -> None:
        print("good morning")

    async def on_shutdown(self, reason: str) -> bytes | None:
        print(f"good night: {reason}")
        return reason.encode()


class Relay(HiveAgent):
    """Gives the content of a mail to two agents in other languages, and mails the result back."""

    async def handle_message(self, message: Message) -> MessageAck:
        pids = {each["name"]: each["pid"] for each in await self.core.list_siblings()}
        content = message.payload
        for name in ("shout", "lines"):
            content = (await self.send_and_wait_core(pids[name], "t", content)).payload
        mail = json.dumps({"content": content.decode()}).encode()
        await self.core.send_message(message.from_pid, type="mail", payload=mail)
        return MessageAck()


class Told(HiveAgent):
    """Says its settings."""

    async def handle_task(self, task: Task, ctx: SyscallContext) -> TaskResult:
        config = self.config
        words = [config.name, config.system_prompt, config.model]
        return TaskResult(
            output="|".join([*words, config.metadata["tools"], config.metadata["initial_task"]])
        )


class Lead(HiveAgent):
    """Spawns a child in its task, and leaves it."""

    async def handle_task(self, task: Task, ctx: SyscallContext) -> TaskResult:
        pid = await ctx.spawn("leaf", "worker", "operational", runtime_image="hive_cast:Hand")
        return TaskResult(output=str(pid))
