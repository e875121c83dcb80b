"""beeline.hive: the tree, the calls that need a steward, the runner, the examples."""

from __future__ import annotations

import asyncio
import json
import logging.handlers
import os
import subprocess
import sys
import tempfile
import time

import beeline
import pytest
from beeline.hive import Message, ProcessInfo
from hive_cast import Chatty, Probe
from hive_ground import TESTS, Ground, scene, until


@scene
async def test_siblings_children_and_facts(ground: Ground) -> None:
    """HK-071, HK-073"""
    boss = await ground.run(Probe(), "boss")
    one = await ground.run(Probe(), "one", "boss", "lead")
    assert await one.core.list_siblings() == []
    two = await ground.start("hive_cast:Hand", "two", "boss", TESTS)
    leaf = await ground.run(Probe(), "leaf", "one", "task")
    (found,) = await one.core.list_siblings()
    assert found == {"pid": two.pid, "name": "two", "role": "worker", "state": found["state"]}
    await two.kill()

    async def is_zombie() -> bool:
        return {each["state"] for each in await one.core.list_siblings()} == {"zombie"}

    await until(is_zombie)
    info = await boss.core.get_process_info(two.pid)
    assert (info.state, info.runtime_addr, info.ppid) == (5, "", boss.pid)
    own = await one.core.get_process_info()
    assert own == await boss.core.get_process_info(one.pid)
    assert (own.pid, own.ppid, own.name, own.role, own.child_count, own.user) == (
        one.pid, boss.pid, "one", 4, 1, one.user
    )  # fmt: skip
    assert abs(own.started_at - time.time()) < 600
    assert (await boss.core.get_process_info(1)).role == 0
    assert {child.pid for child in await boss.core.list_children()} == {one.pid, two.pid}
    everybody = await boss.core.list_children(recursive=True)
    assert {each.pid for each in everybody} == {one.pid, two.pid, leaf.pid}
    assert all(isinstance(each, ProcessInfo) for each in everybody)
    with pytest.raises(RuntimeError, match="get_process_info failed: process 4711 not found"):
        await boss.core.get_process_info(4711)


@scene
async def test_refusals_begin_with_the_name_of_the_call(ground: Ground) -> None:
    """HK-073: unknown pids, queues, and everything that no steward does"""
    agent = await ground.run(Probe(), "agent", role="task")
    core = agent.core
    await ground.run(Probe(), "other")
    for call, text in (
        (core.send_message(), "send failed: no target specified"),
        (core.send_message(4711), "send failed: receiver PID 4711 not found"),
        (core.send_message(agent.pid + 1), "send failed: .*task"),
        (core.send_message(to_queue="q"), "send failed: there are no named queues"),
        (core.send_message(agent.pid, type="t" * 40), "send failed: "),
        (core.spawn_child("n", "worker", "tactical"), "spawn failed: .*runtime_image"),
        (core.spawn_child("n", "x", "x", runtime_image="a:B", runtime_type="claw"), "'claw'"),
        (core.store_artifact("k", b""), "store artifact failed: .*the steward does not"),
        (core.get_artifact("k"), "artifact not found: .*the steward does not"),
        (core.list_artifacts(), "list_artifacts failed: .*the steward does not"),
        (core.get_resource_usage(), "get_resource_usage failed: .*the steward does not"),
        (core.request_resources(), "request_resources failed: .*the steward does not"),
        (core.report_metric("m", 1), "report_metric failed: .*the steward does not"),
        (core.add_cron("n", "* * * * *", 3), "add_cron failed: .*the steward does not.*cron"),
        (core.remove_cron("cron-1"), "remove_cron failed: .*the steward does not"),
        (core.list_cron(), "list_cron failed: .*the steward does not"),
    ):
        with pytest.raises(RuntimeError, match=text):
            await call


@scene
async def test_escalations_climb_and_logs_are_lines(ground: Ground) -> None:
    """HK-073"""
    handler = logging.handlers.BufferingHandler(10)
    logging.getLogger("beeline.hive").addHandler(handler)
    top = await ground.run(Probe(), "top")
    middle = await ground.start("hive_cast:Hand", "middle", "top", TESTS)
    low = await ground.run(Probe(), "low", "middle")
    await middle.kill()
    await low.core.escalate("for all above", severity="critical")
    message = await top.next()
    assert (message.type, message.payload) == ("escalation", b"for all above")
    assert (message.priority, message.relation) == ("critical", "other")
    await top.core.escalate(b"nobody is above")
    await low.core.log("warning", "a line", tokens=3)
    await low.core.log("no such level", "another")
    logging.getLogger("beeline.hive").removeHandler(handler)
    assert [(line.levelname, line.getMessage()) for line in handler.buffer] == [
        ("WARNING", f"pid {low.pid}: a line tokens=3")
    ]


@scene
async def test_ready_is_the_first_line_of_a_process(ground: Ground) -> None:
    """A new process goes on under the pid of one that has ended."""
    boss = await ground.run(Probe(), "boss")
    first = await ground.start("hive_cast:Chatty", "chatty", "boss", TESTS)
    id = await boss.core.send_message(first.pid, type="kept", requires_ack=True)
    assert (await boss.core.acknowledgement(first.pid, id)).status == 0
    assert await first.end() == 0 and first.process.stdout is not None
    assert await first.process.stdout.read() == b"good night: user_request\n"
    await boss.core.send_message(first.pid, type="waits")
    old = {"HIVEKERNEL_PID": str(first.pid)}
    second = await ground.start("hive_cast:Chatty", "", "boss", TESTS, **old)
    assert second.pid == first.pid
    assert boss._agent is not None
    await boss._agent.control(second.pid, beeline.SHUTDOWN, "budget_exceeded")
    assert await asyncio.wait_for(second.process.wait(), 30) == 0
    assert second.process.stdout is not None
    assert await second.process.stdout.read() == b"good night: budget_exceeded\n"
    third = await ground.start("hive_cast:Chatty", "chatty", "boss", TESTS)
    order = boss._agent.control(third.pid, beeline.SHUTDOWN, b"no UTF-8: \xff", requires_ack=True)
    id = str(await order)
    assert (await boss.core.acknowledgement(third.pid, id)).reply == "normal"
    assert await asyncio.wait_for(third.process.wait(), 30) == 0
    third = await ground.start("hive_cast:Chatty", "chatty", "boss", TESTS)
    ground.hive.down()
    assert await asyncio.wait_for(third.process.wait(), 30) == 0
    assert third.process.stdout is not None
    assert await third.process.stdout.read() == b"good night: normal\n"


@scene
async def test_a_runner_that_cannot_start_says_why(ground: Ground) -> None:
    """on_init() raises, does not return, or blocks the loop; no such class, no agent"""
    cases: tuple[tuple[str, dict[str, str], int, str], ...] = (
        ("hive_cast:Stillborn", {}, 1, "on_init"),
        ("hive_cast:Sleeper", {}, 1, "on_init() has not returned within 0.5 s"),
        ("hive_cast:Sleeper", {"BLOCKS": "1"}, 1, "in on_init"),
        ("hive_cast:Nobody", {}, 2, "Nobody"),
        ("hive_cast:json", {}, 2, "cannot make"),
        ("no_such_module:X", {}, 2, "no_such_module"),
        ("hive_cast", {}, 2, "MODULE:CLASS"),
        ("hive_cast:Hand", {"BEELINE_PARENT": "nobody"}, 1, "nobody"),
        ("hive_cast:Hand", {"HIVEKERNEL_PID": "4711"}, 1, "4711"),
    )
    for words, environment, code, text in cases:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "beeline.hive.runner", "--agent", words),
            cwd=TESTS,
            env={**os.environ, **environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        assert (process.returncode, output) == (code, b"") and text in errors.decode(), words
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "beeline.hive.runner", "--agent", "hive_cast:Sleeper"),
        cwd=TESTS,
        env={**os.environ, "BEELINE_NAME": "sleeper", "PATIENCE": "3600"},
    )
    while "sleeper" not in ground.hive.beeline("tree").stdout:
        await asyncio.sleep(0.02)
    process.terminate()
    assert await process.wait() == 0


def test_the_old_server_ends_by_hand() -> None:
    """Subclasses call _make_servicer() and its Shutdown()."""

    class Server:
        grace = 0

        async def stop(self, grace: int) -> None:
            self.grace = grace

    async def play() -> None:
        agent = Chatty()
        agent._server = Server()
        for reason in ("migration", 3):
            request = type("Request", (), {"reason": reason})()
            reply = await agent._make_servicer().Shutdown(request, None)
            assert reply.state_snapshot == b"migration"
        await asyncio.sleep(0)
        assert agent._server.grace == 2

    asyncio.run(play())


@scene
async def test_a_queen_takes_over_at_once_and_answers_later(ground: Ground) -> None:
    """HK-070, HK-072: an assistant finds her by the name before the @"""
    queen = await ground.start("hive_queen:Queen", "queen@vps1", THINKING="1")
    assistant = await ground.start("hive_assistant:Assistant", "assistant")
    asker = await ground.run(Probe(), "asker")
    began = time.monotonic()
    id = await asker.core.send_message(
        queen.pid, type="task_request", payload=b'{"description": "6 * 7"}', requires_ack=True
    )
    assert (await asker.core.acknowledgement(queen.pid, id)).status == 1
    assert time.monotonic() - began < 0.9

    async def has_come() -> bool:
        results.extend(asker.drain_pending_results())
        return bool(results)

    results: list[Message] = []
    await until(has_come)
    assert json.loads(results[0].payload) == {"exit_code": 0, "output": "42"}
    assert results[0].reply_to == id and time.monotonic() - began >= 1
    empty = await asker.send_and_wait_core(queen.pid, "task_request", b"{}")
    assert json.loads(empty.payload)["error"] == "empty task"
    with pytest.raises(RuntimeError, match="no JSON object"):
        await asker.send_and_wait_core(queen.pid, "task_request", b"{")
    answer = await asker.send_and_wait_core(assistant.pid, "chat", b"queen, please: 6 * 7")
    assert answer.payload == b"42"
    answer = await asker.send_and_wait_core(assistant.pid, "chat", b"nobody, please: think")
    assert answer.payload == b"nobody here is called nobody"
    # A queen that is killed at work gets the message again in her next life.
    waiting = asyncio.create_task(
        asker.send_and_wait_core(queen.pid, "task_request", b'{"description": "1 + 2"}')
    )
    await asyncio.sleep(0.3)
    await queen.kill()
    await ground.start("hive_queen:Queen", "queen@vps1")
    assert json.loads((await waiting).payload)["output"] == "3"


@scene
async def test_an_orchestrator_and_ten_workers(ground: Ground) -> None:
    """HK-085, with the example; one worker is killed in the middle"""
    boss = await ground.start("hive_orchestrator:Orchestrator", "boss")
    workers = await asyncio.gather(
        *(
            ground.start("hive_orchestrator:Worker", f"w-{i}", "boss", THINKING="1")
            for i in range(10)
        )
    )
    asker = await ground.run(Probe(), "asker")
    job = ";".join(f"{i} * {i}" for i in range(10)).encode()
    answer = await asker.send_and_wait_core(boss.pid, "task_request", job)
    assert json.loads(answer.payload) == [str(i * i) for i in range(10)]
    waiting = asyncio.create_task(asker.send_and_wait_core(boss.pid, "task_request", job))
    await asyncio.sleep(0.3)
    await workers[3].kill()
    results = json.loads((await waiting).payload)
    lost = [result for result in results if not result.isdecimal()]
    assert lost == [f"execute_task failed: PID {workers[3].pid} died with the task in hand"]


@scene
async def test_a_git_monitor_escalates_new_commits(ground: Ground) -> None:
    """The fourth pattern of the documents"""
    folder = tempfile.TemporaryDirectory()
    with_git = folder.name
    commit = ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m"]
    for words in (["init", "-q", with_git], [*commit, "first"]):
        where = [] if words[0] == "init" else ["-C", with_git]
        subprocess.run(["git", *where, *words], check=True)
    boss = await ground.run(Probe(), "boss")
    program = "hive_git_monitor:GitMonitor"
    monitor = await ground.start(program, "monitor", "boss", GIT_REPOSITORY=with_git)
    reply = await boss.send_and_wait_core(monitor.pid, "cron_task", b'{"description": "look"}')
    assert (reply.payload, reply.type, boss.got) == (b"0 new", "cron_result", [])
    subprocess.run(["git", "-C", with_git, *commit, "second"], check=True)
    reply = await boss.send_and_wait_core(monitor.pid, "cron_task", b"{}")
    told = await boss.next()
    assert reply.payload == b"1 new" and told.type == "escalation" and b"second" in told.payload
    folder.cleanup()
