"""Calls of all kinds at once, many of them cancelled at a random moment: none hangs, and nothing is
left behind. The plugin looks at the books."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import beeline
from beeline.pytest_plugin import AioAgentFactory
from test_aio import beeline_loop  # noqa: F401  both loops

CALLS = 100  # of each client
CLIENTS = 30


async def handle(m: beeline.Message) -> Any:
    fate = random.random()
    if fate < 0.2:
        await asyncio.sleep(0.001)
    if fate < 0.05:
        raise beeline.Reject("no")
    if fate < 0.1:
        raise ValueError("again")
    return beeline.Ack(beeline.AckStatus.REJECTED) if fate < 0.15 else m.text.upper()


async def do(run: beeline.TaskRun) -> str:
    run.log("begun")
    if random.random() < 0.1:
        raise ValueError("cannot")
    await asyncio.sleep(0)
    return "done"


async def lend(agent: beeline.Agent, to: str) -> None:
    async with await agent.loan(to, 5000) as loan:
        loan.payload[0:1] = b"x"
        await asyncio.sleep(0)
        await loan.send(timeout=0.01)


def call(agents: list[beeline.Agent], dice: random.Random) -> Coroutine[Any, Any, Any]:
    agent, to = dice.choice(agents), dice.choice("abc")
    calls: list[Callable[[], Coroutine[Any, Any, Any]]] = [
        lambda: agent.send(to, "s" * dice.choice([1, 5000]), timeout=dice.choice([None, 0.01])),
        lambda: agent.request(to, "question", timeout=dice.choice([0.0005, 20.0])),
        lambda: agent.send_acked(to, "order", timeout=dice.choice([0.001, 20.0])),
        lambda: agent.peer(dice.choice(["a", "b", "nobody"])),
        lambda: agent.children(recursive=True),
        lambda: agents[0].execute(dice.choice("bc"), "task"),
        lambda: agent.broadcast("all", "news"),
        lambda: lend(agent, to),
        lambda: agent.wait_for("nobody", timeout=0.001),
        lambda: agent.receive(timeout=0.001, type="none"),
    ]
    return dice.choice(calls)()


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_storm_of_calls(
    aio_agent: AioAgentFactory, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    small = {"inbox_capacity": 64, "normal_slots": 16}
    parents = {"a": "", "b": "a", "c": "a"}
    agents = [await aio_agent(name, parent=parents[name], **small) for name in parents]
    services = [asyncio.ensure_future(a.serve(handle, concurrency=3, tasks=do)) for a in agents]
    unseen: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))

    async def client(dice: random.Random) -> None:
        for _ in range(CALLS):
            task = asyncio.ensure_future(call(agents, dice))
            if dice.random() < 0.4:
                for _ in range(dice.randrange(4)):
                    await asyncio.sleep(0)
                task.cancel()
            try:
                result = await task
                if isinstance(result, beeline.Message):
                    result.done()
            except (asyncio.CancelledError, beeline.BeelineError, TimeoutError):
                pass

    await asyncio.gather(*(client(random.Random(seed * 1000 + i)) for i in range(CLIENTS)))
    for agent in agents:
        agent.stop_serving()
    await asyncio.gather(*services)
    gc.collect()
    await asyncio.sleep(0)
    assert unseen == []
    for agent in agents:
        driver = agent._driver
        assert not any([driver.answers, driver.acknowledged, driver.peers, driver.lists])
        assert not any([driver.executions, driver.progress, driver.listeners, agent.views()])
        assert agent.counters().leased == 0
        agent.purge_dead()
