"""Children that the steward starts: real processes, in both faces."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from typing import Any

import pytest

import beeline
import beeline.sync
from beeline._processes import Ask, ask_to_signal, ask_to_spawn, ask_to_wait, exit_of
from beeline.pytest_plugin import AgentFactory, AioAgentFactory, Hive

pytestmark = pytest.mark.usefixtures("steward")

CHILD = """
import sys
import beeline.sync
with beeline.sync.attach() as agent:
    print("I am", agent.name, flush=True)
    for message in agent:
        with message:
            if message.type == "exit":
                sys.exit(int(message.text))
            message.reply(f"{agent.name} of {agent.parent}: {message.text}")
"""


def command(code: str = CHILD) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_child_lives_answers_and_ends(agent: AgentFactory) -> None:
    """HK-106, HK-107"""
    boss = agent("boss")
    child = boss.spawn("worker", command(), environment={"A": "b"}, restart="never")
    assert (child.name, child.pid > 1, child.os_pid > 1) == ("worker", True, True)
    with boss.request("worker", "hello") as answer:
        assert answer.text == f"worker of {boss.pid}: hello"
    with pytest.raises(TimeoutError):
        boss.wait(child.pid, timeout=0)
    (listed,) = boss.processes()
    assert (listed.pid, listed.state, listed.end) == (child.pid, "running", None)
    boss.send(child.pid, "3", type="exit")
    end = boss.wait("worker")
    assert (end.exit_code, end.signal, end.known) == (3, 0, True)
    assert "I am worker" in end.output
    assert boss.wait(child.pid) == end
    with pytest.raises(beeline.NoAgent):
        boss.kill("nobody")


def test_a_failed_start_says_why(agent: AgentFactory) -> None:
    boss = agent("boss")
    with pytest.raises(beeline.BeelineError, match="(?s)status 4 .*my last words"):
        boss.spawn("a", command("import sys; print('my last words'); sys.exit(4)"))
    with pytest.raises(beeline.BeelineError, match="no-such-program"):
        boss.spawn("b", ["/no-such-program"])
    with pytest.raises(beeline.Denied, match="kernel"):
        boss.spawn("c", command(), role="kernel")
    late = (TimeoutError, beeline.BeelineError)
    with pytest.raises(late, match="never ready within 50 ms"):
        boss.spawn("d", ["sleep", "60"], ready_within=0.05)


async def test_many_children_at_once_and_their_kill(aio_agent: AioAgentFactory) -> None:
    boss = await aio_agent("boss", role="lead")
    children = await asyncio.gather(
        *(boss.spawn(f"w{i}", command(), role="task") for i in range(4))
    )
    pids = {child.pid for child in children}
    assert {each.pid for each in await boss.processes()} == pids
    killed = await asyncio.gather(*(boss.kill(child.pid) for child in children))
    assert {pid for each in killed for pid in each} == pids
    ends = await asyncio.gather(*(boss.wait(child.pid) for child in children))
    assert {end.reason for end in ends} == {"killed"}


def test_a_grandchild_goes_first(agent: AgentFactory) -> None:
    """HK-106"""
    boss = agent("boss", role="lead")
    lead = boss.spawn("lead", command(), role="lead")
    leaf = boss.spawn("leaf", command(), parent=lead.pid)
    with pytest.raises(beeline.BeelineError):
        boss.kill(lead.pid, recursive=False)
    assert {each.pid for each in boss.processes(recursive=True)} == {lead.pid, leaf.pid}
    stranger = agent("stranger", role="lead")
    with pytest.raises(beeline.BeelineError, match="can only kill own children"):
        stranger.kill(leaf.pid)
    assert boss.kill(lead.pid) == [leaf.pid, lead.pid]


def test_a_child_sleeps_wakes_and_never_comes_back(agent: AgentFactory) -> None:
    """HK-109, HK-114"""
    boss = agent("boss", role="lead")
    boss.spawn("worker", command(), restart="never")
    assert (boss.sleep("worker"), boss.sleep("worker")) == ("sleeping", "sleeping")
    assert boss.processes()[0].state == "sleeping"
    with pytest.raises(TimeoutError):
        boss.request("worker", "too early", timeout=0.1)
    assert boss.wake("worker") == "running"
    with boss.request("worker", "hello", timeout=60) as answer:
        assert answer.text.endswith("hello")
    with pytest.raises(beeline.InvalidArgument, match="is running"):
        boss.wake("worker")
    assert boss.signal("worker", signal.SIGSTOP) == "sleeping"
    assert boss.signal("worker", "KILL") == "ended"
    with pytest.raises(beeline.PeerDead, match="its state is ended"):
        boss.signal("worker", "CONT")


async def test_a_child_sleeps_and_is_killed(aio_agent: AioAgentFactory) -> None:
    boss = await aio_agent("boss", role="lead")
    child = await boss.spawn("worker", command())
    assert await boss.sleep(child.pid) == "sleeping"
    assert await boss.wake(child.pid) == "running"
    assert await boss.signal(child.pid, "SIGSTOP") == "sleeping"
    assert await boss.kill(child.pid) == [child.pid]
    assert (await boss.wait(child.pid)).reason == "killed"
    with pytest.raises(beeline.PeerDead):
        await boss.sleep(child.pid)


def test_the_command_line_sees_the_same_children(hive: Hive, agent: AgentFactory) -> None:
    boss = agent("boss", role="lead")
    child = boss.spawn("worker", command())
    waiting = threading.Thread(target=lambda: hive.beeline("wait", "worker", check=False))
    waiting.start()
    assert "worker" in hive.beeline("ps").stdout
    assert hive.beeline("log", "worker", "--output").stdout == "I am worker\n"
    assert hive.beeline("kill", "worker").stdout == f"{child.pid}\n"
    waiting.join()
    assert boss.wait("worker").reason == "killed"


def test_requests_and_answers_have_the_form_of_the_steward() -> None:
    ask = ask_to_spawn("w", ("a", "b"), {"parent": 7, "memory_bytes": 5, "grace": 0.25, "uid": 0})
    assert (ask.type, ask.fields) == (
        "hive.spawn",
        {
            "name": "w",
            "command": ["a", "b"],
            "parent": "7",
            "uid": 0,
            "grace_ms": 250,
            "limits": {"memory_bytes": 5},
        },
    )
    assert ask_to_wait(7, None).fields["timeout_ms"] == 365 * 24 * 3600 * 1000
    assert ask_to_signal(7, signal.SIGUSR1).fields == {"child": "7", "signal": "USR1"}
    with pytest.raises(TypeError, match="not one text"):
        ask_to_spawn("w", "sleep 1", {})
    wrong: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="colour"):
        ask_to_spawn("w", ["x"], wrong)
    with pytest.raises(beeline.ProtocolError, match="form"):
        exit_of({"pid": 7})


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ('{"error":{"code":"no_agent","text":"process not found"}}', beeline.NoAgent),
        ('{"error":{"code":"timeout","text":"late"}}', TimeoutError),
        ('{"error":"broken"}', beeline.ProtocolError),
        ("[]", beeline.ProtocolError),
        ("", beeline.ProtocolError),
    ],
)
def test_an_error_of_the_steward_is_raised(
    agent: AgentFactory, answer: str, kind: type[Exception]
) -> None:
    echo = agent("echo")
    echo.send("echo", answer)
    with pytest.raises(kind):
        Ask("hive.kill", {}, 1.0).read(echo.receive(timeout=60))
