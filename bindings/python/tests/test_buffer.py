"""The durable buffer: the real program, in both faces."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import beeline
import beeline.buffer.sync
import beeline.sync
from beeline import buffer
from beeline.pytest_plugin import AgentFactory, AioAgentFactory, Hive
from conftest import PATIENCE, Script

PROGRAM = Path(os.environ.get("BEELINE_BIN", "")) / "beeline"
CONFIG = """
buffer: {batchWindowMs: 5}
plugins: [{name: "@koshi/telegram", priority: 10}]
routes:
  - match: {channel: git}
    action: {spawn: {template: nobody, task: "look at {{title}}"}}
"""


class Keeper:
    """The program that keeps the messages."""

    def __init__(self, folder: Path) -> None:
        (folder / "koshi.yaml").write_text(CONFIG)
        words = [str(PROGRAM), "buffer", "run", "--db", str(folder / "buffer.db")]
        self._words = [*words, "--config", str(folder / "koshi.yaml")]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._words)

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def end(self, signal: int = signal.SIGTERM) -> int:
        assert self._process is not None
        self._process.send_signal(signal)
        return self._process.wait(PATIENCE)


@pytest.fixture
def keeper(hive: Hive, tmp_path: Path) -> Iterator[Keeper]:
    words = [str(PROGRAM), "buffer", "run", "--help"]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("this build has no buffer")
    running = Keeper(tmp_path)
    running.start()
    yield running
    running.end()


# KO-003, KO-005, KO-008, KO-028: a message has its provenance, its key and its place in a batch.
async def test_a_batch_is_put_pulled_and_ended(
    keeper: Keeper, aio_agent: AioAgentFactory
) -> None:
    main = await aio_agent("main")
    await main.wait_for("buffer", timeout=PATIENCE)
    store = buffer.Buffer(main)
    first = await store.put("telegram", {"text": "hi"}, conversation="ann", key="1")
    again = await store.put("telegram", "other", conversation="ann", key="1")
    assert again == buffer.Receipt(first.id, True) and not first.repeated
    await store.put("mail", "late", sender="bob", priority=500)
    seen = []
    async for batch in store.batches():
        with batch:
            (message,) = batch.messages
            seen.append((message.channel, message.sender, message.conversation, message.priority))
            status = await store.status()
            assert (status.leased_batches, status.leased_messages) == (1, 1)
            if message.channel == "telegram":
                assert message.json() == {"text": "hi"} and message.id == first.id
        assert not batch.held and not batch.redelivered
        if len(seen) == 2:
            break
    assert seen == [("telegram", "main", "ann", 10), ("mail", "bob", "", 500)]
    assert await store.acknowledge(batch.id) is False
    assert await store.tasks() == []


# A buffer that finds the end of a batch and a later request together hears the end first.
async def test_the_end_of_a_batch_counts_before_a_later_request(
    keeper: Keeper, aio_agent: AioAgentFactory
) -> None:
    main = await aio_agent("main")
    await main.wait_for("buffer", timeout=PATIENCE)
    store = buffer.Buffer(main)
    for number in range(5):
        await store.put("mail", f"letter {number}")
        await store.next()
        batch = store.read(await main.receive(type=buffer.BATCH))
        with keeper.stopped():
            batch.message.done()
            asked = asyncio.ensure_future(store.acknowledge(batch.id))
            await asyncio.sleep(0)  # it is sent
        assert await asked is False


# C-11: the batch of a main agent that was killed comes again, flagged.
def test_a_killed_agent_gets_its_batch_again(
    keeper: Keeper, agent: AgentFactory, script: Script
) -> None:
    channel = agent("channel")
    channel.wait_for("buffer", timeout=PATIENCE)
    store = beeline.buffer.sync.Buffer(channel)
    store.put("telegram", "precious")
    worker = script(
        """
        import beeline.sync, beeline.buffer.sync
        with beeline.sync.attach("main") as agent:
            for batch in beeline.buffer.sync.Buffer(agent).batches():
                print(batch.messages[0].payload, batch.redelivered, flush=True)
                input()
        """
    )
    assert worker.stdout is not None and worker.stdout.readline() == "precious False\n"
    worker.kill()
    worker.wait()
    main = beeline.buffer.sync.Buffer(agent("main"))
    for batch in main.batches():
        assert batch.redelivered and batch.messages[0].payload == "precious"
        assert main.acknowledge(batch.id) and not main.acknowledge(batch.id)
        batch.done()
        break


class CountingBuffer(buffer.Buffer):
    """Counts its calls of next(), as batches() makes them."""

    asked = 0

    async def next(self, count: int = 1) -> None:
        await super().next(count)
        self.asked += 1

    async def heard(self, asked: int) -> None:
        """Returns when the buffer has heard so many; its answer comes after them."""
        async with asyncio.timeout(PATIENCE):
            while self.asked < asked:
                await asyncio.sleep(0)
        await self.status()


# KO-021: the wait of an agent outlives the buffer.
async def test_a_wait_outlives_the_buffer(keeper: Keeper, aio_agent: AioAgentFactory) -> None:
    main, channel = await aio_agent("main"), await aio_agent("channel")
    await main.wait_for("buffer", timeout=PATIENCE)
    counting = CountingBuffer(main)
    batches = counting.batches()
    store = buffer.Buffer(channel)
    cancelled = asyncio.ensure_future(anext(batches))
    await counting.heard(1)
    cancelled.cancel()  # the next one inherits its wish
    for life in range(2):
        waiting = asyncio.ensure_future(anext(batches))
        await counting.heard(life + 1)
        keeper.end(signal.SIGKILL)
        keeper.start()
        await store.put("mail", str(life), key=str(life))
        batch = await waiting
        assert [message.payload for message in batch.messages] == [str(life)]
        batch.done()
        while (await store.status()).leased_batches:  # its end is not on the disk yet
            pass
    assert counting.asked == 2


# Loops of one agent share the batches, and each has asked for its own.
async def test_two_loops_wait_at_once(keeper: Keeper, aio_agent: AioAgentFactory) -> None:
    main = await aio_agent("main")
    await main.wait_for("buffer", timeout=PATIENCE)
    store = CountingBuffer(main)
    loops = [store.batches(), store.batches()]
    for turn in range(3):
        waiting = [asyncio.ensure_future(anext(batches)) for batches in loops]
        await store.heard(2 * turn + 2)
        for text in ("a", "b"):
            await store.put("mail", text, conversation=text)
        batches = await asyncio.gather(*waiting)
        assert {batch.messages[0].payload for batch in batches} == {"a", "b"}
        for batch in batches:
            batch.done()
    assert store.asked == 6


# KO-015, KO-025: a task is listed with the reason of its failure, and the main agent hears nothing.
def test_a_task_is_listed(keeper: Keeper, agent: AgentFactory) -> None:
    channel = agent("channel")
    channel.wait_for("buffer", timeout=PATIENCE)
    store = beeline.buffer.sync.Buffer(channel)
    main = agent("main")
    beeline.buffer.sync.Buffer(main).next()
    store.put("git", {"title": "pull"}, conversation="7")
    while not (found := store.tasks("failed")):
        pass
    (task,) = found
    assert (task.template, task.text, task.conversation) == ("nobody", "look at pull", "7")
    assert task.status == "failed" and task.exit_code is None and "nobody" in task.result
    assert store.tasks("completed") == []
    store.put("mail", "hello")
    with main.receive(timeout=PATIENCE) as message:
        assert store.read(message).channel == "mail"
    assert main.try_receive() is None


def answers(replies: list[str]) -> Any:
    async def answer(message: beeline.Message) -> str:
        return replies.pop(0)

    return answer


# Another program has the name: each of its answers is an error with words.
async def test_answers_of_another_form_are_errors(aio_agent: AioAgentFactory) -> None:
    main, other = await aio_agent("main"), await aio_agent("odd")
    store = buffer.Buffer(main, "odd")
    with pytest.raises(beeline.NoAgent):
        await buffer.Buffer(main, "nobody").status()
    wrong = ["no json", "[]", "[" * 100_000, '{"id": 1}', '{"error": {"code": "system"}}']
    wrong += ['{"id": "1", "repeated": true}', '{"id": 1, "repeated": 1}', '{"id": true}']
    full = '{"error": {"code": "full", "text": "no space"}}'
    halves = ["{}", "{}", '{"channels": 7}', '{"tasks": [[]]}']
    service = asyncio.ensure_future(other.serve(answers([*wrong, full, *halves])))
    for text in wrong:
        with pytest.raises(beeline.BeelineError):
            await store.put("a", text)
    with pytest.raises(beeline.Full, match="no space"):
        await store.put("a", "b")
    for call in (store.acknowledge(1), store.status(), store.status(), store.tasks()):
        with pytest.raises(beeline.ProtocolError, match="broke the form"):
            await call
    other.stop_serving()
    await service


@pytest.mark.parametrize("payload", ["", "[]", "{}", '{"id": "1"}', "[" * 100_000, "batch"])
def test_a_message_that_is_no_batch_is_refused(agent: AgentFactory, payload: str) -> None:
    a = agent("a")
    if payload == "batch":
        fields = dict(id=1, channel="", conversation="", redelivered=False, messages=[])
        payload = json.dumps(fields)
    a.send("a", payload, type=buffer.BATCH)
    with a.receive() as message, pytest.raises(beeline.InvalidArgument, match="is no batch"):
        beeline.buffer.sync.Buffer(a).read(message)
    a.send("a", "x")
    with a.receive() as message, pytest.raises(beeline.InvalidArgument, match="has the type ''"):
        beeline.buffer.sync.Buffer(a).read(message)


async def test_wrong_arguments_are_refused(
    agent: AgentFactory, aio_agent: AioAgentFactory
) -> None:
    a: Any = agent("a")
    b: Any = await aio_agent("b")
    with pytest.raises(TypeError, match=r"beeline\.buffer\.sync"):
        buffer.Buffer(a)
    with pytest.raises(TypeError, match="no agent of beeline.sync"):
        beeline.buffer.sync.Buffer(b)
    for count in (0, 65):
        with pytest.raises(beeline.InvalidArgument, match="1 to 64"):
            await buffer.Buffer(b).next(count)
    wrong: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="no option 'colour'"):
        await buffer.Buffer(b).put("a", "b", **wrong)


def test_the_example_works(keeper: Keeper, agent: AgentFactory) -> None:
    channel = agent("channel")
    channel.wait_for("buffer", timeout=PATIENCE)
    store = beeline.buffer.sync.Buffer(channel)
    for text in ("hello", "stop"):
        store.put("telegram", text, conversation=text)
    example = Path(__file__).parent.parent / "examples" / "buffer_agent.py"
    words = [sys.executable, str(example)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout == "telegram hello hello\ntelegram stop stop\n", done.stderr
