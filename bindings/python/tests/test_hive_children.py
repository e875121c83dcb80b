"""spawn_child, kill_child and wait_child of HiveAgents: HK-106, HK-107, ecosystem rules."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest
from hive_cast import Hand, Probe
from hive_ground import TESTS, Ground, scene, until

pytestmark = pytest.mark.usefixtures("steward", "in_tests")


@pytest.fixture
def in_tests() -> Iterator[None]:
    """A child finds its class from the directory of this process."""
    before = os.getcwd()
    os.chdir(TESTS)
    yield
    os.chdir(before)


@scene
async def test_children_do_tasks_and_are_killed(ground: Ground) -> None:
    """The loop of section 9 of the mailbox paper."""
    core = (await ground.run(Probe(), "orchestrator", role="lead")).core
    workers = await asyncio.gather(
        *(
            core.spawn_child(f"w-{i}", "worker", "operational", runtime_image="hive_cast:Hand")
            for i in range(5)
        )
    )
    results = await asyncio.gather(*(core.execute_task(w, f"say {w}") for w in workers))
    assert [result.output for result in results] == [str(w) for w in workers]
    for worker in workers:
        assert await core.kill_child(worker) == [worker]
    end = await core.wait_child(workers[0])
    assert set(end) == {"pid", "exit_code", "output"} and end["pid"] == workers[0]


@scene
async def test_a_child_has_the_settings_of_its_spawn(ground: Ground) -> None:
    core = (await ground.run(Probe(), "boss", role="lead")).core
    pid = await core.spawn_child(
        "told",
        "worker",
        "no such tier",
        system_prompt="be brief",
        model="mini",
        tools=["a", "b"],
        initial_task="begin",
        limits={"max_children": 3, "max_tokens_total": 7},
        runtime_image="hive_cast:Told",
    )
    result = await core.execute_task(pid, "tell")
    assert result.output == "told|be brief|mini|a,b|begin"
    await core.kill_child(pid)


@scene
async def test_failures_begin_with_the_name_of_the_call(ground: Ground) -> None:
    core = (await ground.run(Probe(), "boss", role="lead")).core
    other = await ground.run(Hand(), "other", role="lead")
    for image, text in (
        ("hive_cast:Stillborn", "spawn failed: (?s:.*)on_init"),
        ("hive_cast:Nobody", "spawn failed: (?s:.*)status 2 (?s:.*)Nobody"),
        ("hive_cast:Sleeper", "spawn failed: (?s:.*)on_init\\(\\) has not returned"),
    ):
        with pytest.raises(RuntimeError, match=text):
            await core.spawn_child("n", "task", "operational", runtime_image=image)
    pid = await core.spawn_child("w", "worker", "tactical", runtime_image="hive_cast:Hand")
    for call, text in [
        (other.core.kill_child(pid), "kill failed: can only kill own children"),
        (other.core.wait_child(pid), "wait_child failed: can only wait for own children"),
        (core.kill_child(4711), "kill failed: process not found"),
        (core.wait_child(pid, 0.01), "wait_child failed: timeout waiting for child"),
        (core.spawn_child("w", "task", "strategic", runtime_image="a:B"), "spawn failed: spawn"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            await call
    assert await core.kill_child(pid) == [pid]


@scene
async def test_a_task_spawns_through_its_context_and_a_lead_dies_with_its_children(
    ground: Ground,
) -> None:
    core = (await ground.run(Probe(), "boss", role="lead")).core
    lead = await core.spawn_child("lead", "lead", "tactical", runtime_image="hive_cast:Lead")
    result = await core.execute_task(lead, "split")
    leaf = int(result.output)

    async def is_there() -> bool:
        return {each.pid for each in await core.list_children(recursive=True)} >= {lead, leaf}

    await until(is_there)
    assert await core.kill_child(lead) == [leaf, lead]
