"""beeline.hive: tasks of a parent for its children."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from beeline.hive import HiveAgent, Message, MessageAck, SyscallContext, TaskResult
from hive_cast import Hand, Probe, Thorn
from hive_ground import TESTS, Ground, scene, until


@scene
async def test_a_result_is_read_by_attribute_and_by_key(ground: Ground) -> None:
    """HK-080, HK-081, HK-082, HK-087, C-28"""
    boss = await ground.run(Probe(), "boss")
    hand = await ground.start("hive_cast:Hand", "hand", "boss", TESTS)
    result = await boss.core.execute_task(hand.pid, "exit 3")
    assert (result.exit_code, result["exit_code"]) == (3, 3)  # no failure
    result = await boss.core.execute_task(hand.pid, "sleep 0.1")
    assert result == TaskResult(0, "0.1", {"a": "1"}, {"m": "hand"})
    assert dict(result) == {key: result[key] for key in result} and "output" in result
    with pytest.raises(KeyError):
        result["keys"]
    description = "echo " + "x" * 30
    result = await boss.core.execute_task(hand.pid, description, {"p": "q"}, 60)
    task = json.loads(result["output"])
    assert task["task_id"] == f"ext-{hand.pid}-{description[:20]}" and task["params"] == {"p": "q"}
    assert (task["description"], task["priority"]) == (description, "normal")
    assert 50 <= task["timeout_seconds"] <= 60 and task["parent_task_id"] == ""
    ctx = SyscallContext("the whole", core=boss.core)
    part = json.loads((await ctx.execute_on(hand.pid, "echo")).output)
    assert part["parent_task_id"] == "the whole" and len(part["task_id"]) == 36
    assert part["timeout_seconds"] in (119, 120)
    assert json.loads(ground.hive.beeline("inbox", "hand", "--json").stdout) == []
    assert boss.got == []  # reports are no messages


@scene
async def test_failures_say_what_failed(ground: Ground) -> None:
    """HK-083, HK-084, HK-086"""
    boss = await ground.run(Probe(), "boss")
    hand = await ground.run(Hand(), "hand", "boss")
    sibling = await ground.run(Hand(), "sibling", "boss")
    for pid, description, text in (
        (hand.pid, "raise the text", "execute_task failed: task failed: the text$"),
        (hand.pid, "large", "execute_task failed: .*104857"),
        (hand.pid, "wrong", "execute_task failed: task failed: .*TaskResult"),
        (4711, "any", "execute_task failed: target process not found"),
        (boss.pid, "any", "execute_task failed: can only execute_on own children"),
        (1, "any", "execute_task failed: can only execute_on own children"),
    ):
        with pytest.raises(RuntimeError, match=text):
            await boss.core.execute_task(pid, description)
    with pytest.raises(RuntimeError, match="execute_task failed: can only execute_on own children"):
        await sibling.core.execute_task(hand.pid, "any")
    with pytest.raises(RuntimeError, match="execute_on failed: can only execute_on own children"):
        await SyscallContext("t", core=sibling.core).execute_on(hand.pid, "any")
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="execute_task failed: "):
        await boss.core.execute_task(hand.pid, "sleep 3600", timeout_seconds=0.2)
    assert time.monotonic() - began < 30
    assert hand._desk is not None

    async def is_idle() -> bool:  # the child's task was cancelled
        return hand._desk is not None and hand._desk._at_work == 0

    await until(is_idle)


@scene
async def test_ten_workers_and_a_kill_in_the_middle(ground: Ground) -> None:
    """HK-085, C-12: results in order; the death of one is an error at once; its successor works"""
    boss = await ground.run(Probe(), "boss")
    hands = [await ground.run(Hand(), f"hand-{i}", "boss") for i in range(9)]
    victim = await ground.start("hive_cast:Hand", "hand-9", "boss", TESTS)
    pids = [hand.pid for hand in hands] + [victim.pid]
    began = time.monotonic()
    results = await asyncio.gather(*(boss.core.execute_task(pid, "sleep 0.2") for pid in pids))
    assert [result.metadata["m"] for result in results] == [f"hand-{i}" for i in range(10)]
    assert time.monotonic() - began < 1.9
    runs = [asyncio.create_task(boss.core.execute_task(pid, "sleep 1")) for pid in pids]
    await asyncio.sleep(0.3)
    await victim.kill()
    *others, lost = await asyncio.gather(*runs, return_exceptions=True)
    assert all(isinstance(each, TaskResult) for each in others)
    assert isinstance(lost, RuntimeError)
    assert str(lost) == f"execute_task failed: PID {victim.pid} died with the task in hand"
    with pytest.raises(RuntimeError, match=f"no runtime for PID {victim.pid}"):
        await boss.core.execute_task(victim.pid, "any")
    again = await ground.start("hive_cast:Hand", "hand-9", "boss", TESTS)
    assert again.pid == victim.pid
    assert (await boss.core.execute_task(again.pid, "say hello")).output == "hello"


@scene
async def test_an_agent_of_the_role_task_ends_after_its_task(ground: Ground) -> None:
    """HK-088: another task calls the end off; a worker stays"""
    boss = await ground.run(Probe(), "boss")
    worker = await ground.run(Hand(), "worker", "boss")
    once = await ground.start("hive_cast:Hand", "once", "boss", TESTS, BEELINE_ROLE="task")
    assert (await boss.core.get_process_info(once.pid)).role == 6
    for _ in range(3):
        await boss.core.execute_task(once.pid, "sleep 0")
        await asyncio.sleep(0.3)
    assert once.process.returncode is None
    await boss.core.execute_task(worker.pid, "sleep 0")
    assert await asyncio.wait_for(once.process.wait(), 30) == 0
    states = {child.name: child.state for child in await boss.core.list_children()}
    assert states["once"] in (4, 5) and states["worker"] not in (4, 5)


@scene
async def test_agents_that_raise_in_every_hook_do_no_harm(ground: Ground) -> None:
    """HK-083: three attempts, then a dead letter; the agent goes on, and ends"""
    boss = await ground.run(Probe(), "boss")
    thorn = await ground.start("hive_cast:Thorn", "thorn", "boss", TESTS)
    with pytest.raises(RuntimeError, match="no reply from PID .*exhausted"):
        await boss.send_and_wait_core(thorn.pid, "t", b"", timeout=30)
    with pytest.raises(RuntimeError, match="execute_task failed: task failed: handle_task"):
        await boss.core.execute_task(thorn.pid, "any")
    assert await thorn.end() == 0
    own = await ground.run(Broken(), "own", "boss")
    with pytest.raises(RuntimeError, match="no reply from PID .*exhausted"):
        await boss.send_and_wait_core(own.pid, "t", b"", timeout=30)


class Broken(HiveAgent):
    """Raises in on_message()."""

    async def on_message(self, message: Message) -> MessageAck:
        raise KeyError("on_message")
