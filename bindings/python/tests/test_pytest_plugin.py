"""The plugin for pytest: its fixtures, and the leftovers that it reports."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import beeline
import pytest
from beeline.pytest_plugin import AgentFactory, AioAgentFactory, Hive

LEAKS = """
import os
import subprocess
import sys

import pytest

held = []


def test_lease(agent):
    receiver = agent("receiver")
    agent("sender").send("receiver", b"x")
    held.append(receiver.receive(timeout=10))


@pytest.mark.beeline_leaves("lease")
def test_lease_on_purpose(agent):
    test_lease(agent)


def test_descriptor(hive):
    held.append(open(os.devnull))


@pytest.mark.beeline_leaves("descriptor")
def test_descriptor_on_purpose(hive):
    test_descriptor(hive)


def test_process(hive):
    held.append(subprocess.Popen(["sleep", "1000"]))


def test_process_of_another_parent(agent):
    agent("starter")
    subprocess.run(["sh", "-c", "sleep 1000 >/dev/null 2>&1 &"], check=True)


def test_file(hive, agent):
    agent("starter")
    (hive.directory / "notes").write_text("forgotten")


def test_failure_is_reported_alone(hive):
    held.append(open(os.devnull))
    raise AssertionError("the only fault of this test")


@pytest.mark.beeline_leaves("mess")
def test_unknown_kind(hive):
    pass


def test_nothing_is_left(agent):
    test_lease_and_end(agent)


def test_lease_and_end(agent):
    receiver = agent("receiver")
    agent("sender").send("receiver", b"x")
    receiver.receive(timeout=10).done()
"""


def test_each_leftover_is_reported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LEAKS)
    result = pytester.runpytest_subprocess("-p", "beeline.pytest_plugin", "-rA", "--tb=short")
    result.assert_outcomes(passed=9, failed=1, errors=6)
    text = result.stdout.str()
    for fault in (
        "receiver still has 1 messages in hand",
        "is open: /dev/null",
        "is left, and was killed: sleep 1000",
        "the file notes is in the directory of the hive",
        "the only fault of this test",
        "beeline_leaves does not know ['mess'], but ['lease', 'process', 'descriptor', 'file']",
    ):
        assert fault in text
    errors = [line.split("::")[1].split(" ")[0] for line in result.outlines if "ERROR test" in line]
    assert sorted(errors) == [
        "test_descriptor",
        "test_file",
        "test_lease",
        "test_process",
        "test_process_of_another_parent",
        "test_unknown_kind",
    ]


def test_each_test_has_its_own_hive(hive: Hive, agent: AgentFactory) -> None:
    assert os.environ["BEELINE_DIR"] == str(hive.directory)
    assert hive.keeper == 0
    agent("first")
    agent("second")
    assert hive.status()["agents"] == 2
    assert hive.keeper == hive.status()["keeper_pid"]
    assert Path(f"/proc/{hive.coordinator}").exists()
    assert hive.beeline("send", "first", "x").stdout
    assert "event=serving" in hive.log()


def test_the_hive_of_the_test_before_is_gone(hive: Hive, agent: AgentFactory) -> None:
    agent("first")
    assert hive.status()["agents"] == 1
    hive.down()
    assert hive.keeper == 0


def test_a_failed_command_says_why(hive: Hive, agent: AgentFactory) -> None:
    agent("first")
    with pytest.raises(AssertionError, match="beeline send nobody x exits with .*nobody"):
        hive.beeline("send", "nobody", "x")
    assert hive.beeline("send", "nobody", "x", check=False).returncode != 0


def test_agents_of_a_loop_are_closed_before_it(
    aio_agent: AioAgentFactory, beeline_loop: asyncio.AbstractEventLoop
) -> None:
    async def talk() -> str:
        answerer = await aio_agent("answerer")
        asker = await aio_agent("asker")
        await asker.send("answerer", "x")
        async with await answerer.receive(timeout=10) as message:
            return message.text

    assert beeline_loop.run_until_complete(talk()) == "x"


def test_an_agent_may_outlive_its_loop(aio_agent: AioAgentFactory) -> None:
    async def attach() -> beeline.Agent:
        agent = await aio_agent("lonely")
        with pytest.raises(TimeoutError):
            await agent.receive(timeout=0.01)
        return agent

    agent = asyncio.run(attach())
    assert not agent.closed


def test_a_waiting_task_ends_with_the_test(
    aio_agent: AioAgentFactory, beeline_loop: asyncio.AbstractEventLoop
) -> None:
    async def begin() -> asyncio.Task[object]:
        agent = await aio_agent("waiter")
        task = asyncio.ensure_future(agent.receive())
        await asyncio.sleep(0.01)
        return task

    assert not beeline_loop.run_until_complete(begin()).done()


def test_processes_of_the_hive_may_end_late(hive: Hive, agent: AgentFactory) -> None:
    agent("first")
    program = "sleep 0.3"
    subprocess.run(["sh", "-c", f"{program} >/dev/null 2>&1 &"], check=True)
    assert hive.directory.exists()
