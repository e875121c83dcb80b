"""beeline.hive beside beeline.exchange and agents in other languages, in one tree."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from uuid import uuid4

import pytest
from beeline.exchange import Exchange
from beeline.hive import Message, MessageAck, envelope
from beeline.hive.recent import Recent
from beeline.hive.request_id import new_request, number_of, text_of
from hive_cast import Probe
from hive_ground import EXAMPLES, TESTS, Ground, scene


class Pipe:
    """`beeline pipe`: a program in any language."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def call(self, **command: object) -> dict[str, object]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        while True:
            result: dict[str, object] = json.loads(await self.process.stdout.readline())
            if "event" not in result:
                return result


@scene
async def test_both_faces_a_cpp_agent_and_a_pipe_work_in_one_tree(ground: Ground) -> None:
    """A mail of an entity goes through agents of HiveKernel's face, of C++ and of a pipe."""
    boss = await ground.run(Probe(), "boss")
    relay = await ground.start("hive_cast:Relay", "relay", "boss", TESTS)
    shout = await ground.program("reply", "shout", "--parent", "boss", "--command", "tr a-z A-Z")
    pipe = Pipe(await ground.program("pipe", "lines", "--parent", "boss"))
    assert boss._agent is not None
    for name in ("shout", "lines"):
        await boss._agent.wait_for(name, 30)
    entity = uuid4()
    async with Exchange() as exchange:
        await exchange.attach(parent="boss")
        exchange.register(entity)
        for way in ("reply", "done"):
            exchange.send(entity, exchange.contact("relay"), f"to be or not {way}")
            await exchange.sync()
            message = (await pipe.call(do="receive"))["message"]
            assert isinstance(message, dict) and message["from"] == relay.pid
            words = {"id": message["id"], "body": str(len(message["body"].split()))}
            assert message["body"] == f"TO BE OR NOT {way.upper()}"
            assert (await pipe.call(do=way, **words))["ok"]
            if way == "reply":
                await pipe.call(do="done", id=message["id"])
            while (mail := exchange.pop_mail(entity, exchange.contact("relay"))) is None:
                await exchange.sync()
                await asyncio.sleep(0.02)
            assert mail.content == "5" and mail.metadata["agent"] == "relay"
        # The other way round: the pipe asks an agent of this face, and gets its acknowledgement.
        asked = await pipe.call(do="request", to="boss", body="x", timeout_ms=300)
        assert asked["code"] == "unanswered" and (await boss.next()).payload == b"x"
        # A text of the user's own stands in front of the payload.
        pids = {each.name: each.pid for each in await boss.core.list_children()}
        await boss.core.send_message(pids["lines"], payload=b"body", reply_to="own words")
        message = (await pipe.call(do="receive"))["message"]
        assert isinstance(message, dict)
        assert message["body"] == '{"reply_to": "own words"}\nbody'
        await pipe.call(do="reply", id=message["id"], body="answer", type="note")
        await pipe.call(do="done", id=message["id"])
        assert (await boss.next()).reply_to == "own words"
        # A program that uses the channel of these envelopes for something else.
        for body in ("no envelope", "[]\n", '{"reply_to": 7}\nx', "[" * 100_000, "\0"):
            await pipe.call(do="send", to="boss", body=body, channel=envelope.CHANNEL)
            assert (await boss.next()).payload == body.encode()
    for process in (shout, pipe.process):
        process.terminate()
        await process.communicate()


def test_ids_of_requests_fit_into_the_engine() -> None:
    """HK-062, C-09"""
    for pid in (0, 1, 2**24 - 1):
        number = new_request(pid)
        assert number < 2**64 and number_of(text_of(number)) == number != new_request(pid)
    assert (text_of((3 << 40) + 21), number_of("3:21")) == ("3:21", (3 << 40) + 21)
    for foreign in ("", "x", "3:", "0:0", str(uuid4()), "g" * 36, text_of(number).upper()):
        assert number_of(foreign) == 0
    recent: Recent[int, int] = Recent(2)
    for key in (1, 2, 1, 3):
        recent.add(key, key)
    assert [recent.get(key) for key in (1, 2, 3)] == [1, None, 3] and len(recent) == 2


def test_results_that_nobody_drains_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """HK-068"""
    monkeypatch.setattr("beeline.hive.agent._MOST_RESULTS", 2)

    async def play() -> None:
        agent = Probe()
        for id in ("1", "2", "3"):
            answer = Message(message_id=id, type="task_response", reply_to="r")
            assert await agent.on_message(answer) == MessageAck()
        assert [each.message_id for each in agent.drain_pending_results()] == ["2", "3"]

    asyncio.run(play())


def test_programs_import_the_name_of_the_original() -> None:
    """Files of a folder with this name, beside ours, add modules to it."""
    program = """
import sys
from hivekernel_sdk import HiveAgent, TaskResult
from hivekernel_sdk.agent import HiveAgent as same
from hivekernel_sdk.client import CoreClient
from hivekernel_sdk.syscall import SyscallContext
from hivekernel_sdk.types import AgentConfig, Message, MessageAck, ResourceUsage, Task
import beeline.hive
assert HiveAgent is same is beeline.hive.HiveAgent and TaskResult is beeline.hive.TaskResult
"""
    extra = EXAMPLES.parent / "extras" / "hivekernel" / "src"
    code = f"import sys; sys.path.insert(0, {str(extra)!r})\n{program}"
    subprocess.run([sys.executable, "-B", "-c", code], check=True)
    path = os.pathsep.join([str(extra), *sys.path])
    runner = [sys.executable, "-B", "-m", "hivekernel_sdk.runner", "--help"]
    done = subprocess.run(
        runner, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=True
    )
    assert b"MODULE:CLASS" in done.stdout and done.stderr == b""
