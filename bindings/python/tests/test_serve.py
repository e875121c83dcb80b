"""serve() of both faces: outcomes, handlers, concurrency, ends."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import beeline
import beeline.sync
from beeline import Ack, AckStatus
from beeline.pytest_plugin import AgentFactory, AioAgentFactory

OUTCOMES: list[tuple[Any, AckStatus, str]] = [
    (None, AckStatus.ACCEPTED, ""),
    ("text", AckStatus.ACCEPTED, "text"),
    (b"bytes", AckStatus.ACCEPTED, "bytes"),
    (Ack(reply="ack"), AckStatus.ACCEPTED, "ack"),
    (Ack(AckStatus.REJECTED, "why"), AckStatus.REJECTED, "why"),
    (Ack(AckStatus.QUEUED), AckStatus.QUEUED, ""),
    (beeline.Reject("bad"), AckStatus.REJECTED, "bad"),
]


def outcome(m: Any, kept: list[Any]) -> Any:
    result = OUTCOMES[int(m.text)][0]
    if isinstance(result, beeline.Reject):
        raise result
    if isinstance(result, Ack) and result.status == AckStatus.QUEUED:
        kept.append(m)
    return result


async def test_the_result_of_a_handler_ends_the_message(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    kept: list[Any] = []

    async def handler(m: beeline.Message) -> Any:
        await asyncio.sleep(0)
        return outcome(m, kept)

    functions: list[Any] = [handler, lambda m: outcome(m, kept)]
    for function in functions:
        service = asyncio.ensure_future(b.serve(function, concurrency=2))
        for i, (_, status, reply) in enumerate(OUTCOMES):
            said = await a.send_acked("b", str(i))
            assert (said.status, said.text) == (status, reply)
        await kept.pop().reply("later")
        async with await a.receive() as later:
            assert later.text == "later"
        b.stop_serving()
        assert await service == len(OUTCOMES)
    b.purge_dead()


def test_the_same_in_a_thread(agent: AgentFactory) -> None:
    b = agent("b")
    kept: list[Any] = []
    a = agent("a")
    for i in range(len(OUTCOMES)):
        a.send("b", str(i), requires_ack=True)

    def handler(m: Any) -> Any:
        if int(m.text) == len(OUTCOMES) - 1:
            b.stop_serving()
        return outcome(m, kept)

    assert b.serve(handler) == len(OUTCOMES)
    for i, (_, status, reply) in enumerate(OUTCOMES):
        said = a.ack("b", beeline.MessageId((a.pid << 40) + i + 1))
        assert (said.status, said.text) == (status, reply)
    kept.pop().reply("later")
    with a.receive() as later:
        assert later.text == "later"


async def test_an_exception_requeues_and_is_logged(
    aio_agent: AioAgentFactory, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = await aio_agent("a"), await aio_agent("b", max_attempts=2)
    attempts = []

    async def fail(m: beeline.Message) -> None:
        view = m.payload  # lives in the frame of the error
        attempts.append((m.attempts, len(view)))
        raise ZeroDivisionError

    service = asyncio.ensure_future(b.serve(fail))
    with pytest.raises(beeline.Rejected):
        await a.request("b", "x" * 1000)
    service.cancel()
    assert attempts == [(0, 1000), (1, 1000)]
    assert [r.name for r in caplog.records if r.exc_info] == ["beeline", "beeline"]
    assert caplog.records[0].levelno == logging.ERROR


async def test_any_text_of_an_error_can_be_said(aio_agent: AioAgentFactory) -> None:
    boss, b = await aio_agent("boss"), await aio_agent("b", parent="boss")

    def refuse(m: beeline.Message) -> None:
        raise beeline.Reject("a \udcff b\0")

    def fail(run: beeline.TaskRun) -> None:
        raise ValueError("a \udcff b\0")

    service = asyncio.ensure_future(b.serve(refuse, tasks=fail))
    await asyncio.sleep(0)
    for _ in range(2):
        assert (await boss.send_acked("b", "x")).text == "a ? b\0"
        with pytest.raises(beeline.TaskFailed, match=r"ValueError: a \? b"):
            await boss.execute("b", "y")
    b.stop_serving()
    assert await service == 4
    b.purge_dead()


async def test_a_view_that_is_kept_holds_its_message_alone(
    aio_agent: AioAgentFactory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "beeline")  # a record would hold the frames, and they it
    a, b = await aio_agent("a"), await aio_agent("b")
    views: list[memoryview] = []
    seen: list[tuple[str, int]] = []

    def keep(m: beeline.Message) -> None:
        seen.append((m.text, m.attempts))
        if m.text == "kept" and m.attempts == 0:
            views.append(m.payload)

    service = asyncio.ensure_future(b.serve(keep))
    for text in ("kept", "next"):
        await a.send("b", text)
    while len(seen) < 2:
        await asyncio.sleep(0.001)
    assert b.counters().leased == 1
    views.pop().release()
    while len(seen) < 3:
        await asyncio.sleep(0.001)
    service.cancel()
    assert seen == [("kept", 0), ("next", 0), ("kept", 1)]


class Clerk(beeline.Handler):
    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def on_start(self, agent: beeline.Agent) -> None:
        self.heard.append(agent.name)

    @beeline.on("add")
    async def add(self, m: beeline.Message) -> str:
        return str(sum(m.json()))

    async def on_control(self, order: str, m: beeline.Message) -> None:
        self.heard.append(order)

    async def on_notice(self, notice: beeline.Notice) -> None:
        self.heard.append(notice.kind)

    async def on_task(self, run: beeline.TaskRun) -> str:
        return run.description.upper()

    async def on_stop(self, reason: str) -> None:
        self.heard.append(reason)


class HeadClerk(Clerk):
    @beeline.on("wait")
    async def wait(self, m: beeline.Message) -> None:
        await asyncio.Event().wait()


async def test_a_handler_object(aio_agent: AioAgentFactory) -> None:
    boss = await aio_agent("boss")
    b = await aio_agent("b", parent="boss")
    child = await aio_agent("child", parent="b")
    clerk = Clerk()
    service = asyncio.ensure_future(b.serve(clerk))
    async with await boss.request("b", "[1, 2]", type="add") as answer:
        assert answer.text == "3"
    with pytest.raises(beeline.Rejected, match="unknown"):
        await boss.request("b", "", type="unknown")
    assert (await boss.execute("b", "task")).text == "TASK"
    await child.aclose()
    await boss.control("b", beeline.STEER)
    await boss.control("b", beeline.SHUTDOWN)
    assert await service == 5
    kinds = beeline.NoticeKind
    assert sorted(map(str, clerk.heard)) == sorted(
        ["b", str(kinds.CHILD_AWAY), "steer", "shutdown", "shutdown"]
    )
    with pytest.raises(TypeError, match="on_task"):
        await b.serve(clerk, tasks=print)
    b.purge_dead()


class Rebel(beeline.Handler):
    def __init__(self) -> None:
        self.views: list[memoryview] = []

    def on_control(self, order: str, m: Any) -> None:
        view = m.payload
        raise ZeroDivisionError(len(view))


async def test_a_shutdown_is_over_when_its_handler_fails(
    aio_agent: AioAgentFactory, caplog: pytest.LogCaptureFixture
) -> None:
    boss, b = await aio_agent("boss"), await aio_agent("b", parent="boss")
    await boss.control("b", beeline.SHUTDOWN)
    assert await b.serve(Rebel(), timeout=60) == 1
    assert b.counters().done == 1 and b.counters().queued == 0
    assert [r.exc_info is not None for r in caplog.records] == [True]
    assert await b.serve(Rebel(), timeout=0.01) == 0


def test_a_shutdown_is_over_in_a_thread_too(agent: AgentFactory) -> None:
    boss, b = agent("boss"), agent("b", parent="boss")
    boss.control("b", beeline.SHUTDOWN)
    assert b.serve(Rebel(), timeout=60) == 1
    assert b.counters().done == 1 and b.serve(Rebel(), timeout=0.01) == 0


async def test_tasks_are_refused_unless_somebody_takes_them(aio_agent: AioAgentFactory) -> None:
    boss, b = await aio_agent("boss"), await aio_agent("b", parent="boss")
    b.tasks()
    waiting = asyncio.ensure_future(boss.execute("b", "waits"))
    while not b.poll().tasks:
        await asyncio.sleep(0.001)
    polls: list[object] = []
    service = asyncio.ensure_future(b.serve(print))
    await asyncio.sleep(0.01)
    b._driver.listeners.add(polls.append)
    await asyncio.sleep(0.05)
    b._driver.listeners.discard(polls.append)
    assert len(polls) < 10
    with pytest.raises(beeline.Rejected):
        await boss.execute("b", "x")
    b.stop_serving()
    await service
    taken = b.tasks()
    service = asyncio.ensure_future(b.serve(print))
    await asyncio.sleep(0)
    (await taken.__anext__()).finish()
    await waiting
    other = asyncio.ensure_future(boss.execute("b", "y"))
    (await taken.__anext__()).finish()
    await other
    b.stop_serving()
    await service


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_orders_reach_busy_handlers(aio_agent: AioAgentFactory, concurrency: int) -> None:
    boss = await aio_agent("boss")
    b = await aio_agent("b", parent="boss")
    clerk = HeadClerk()
    service = asyncio.ensure_future(b.serve(clerk, concurrency=concurrency))
    for _ in range(5):
        await boss.send("b", "", type="wait", rank=beeline.CRITICAL)
    while b.counters().leased < concurrency:
        await asyncio.sleep(0.001)
    await boss.control("b", beeline.STEER)
    while "steer" not in clerk.heard:
        await asyncio.sleep(0.001)
    assert b.counters().leased == concurrency
    service.cancel()
    with pytest.raises(asyncio.CancelledError):
        await service
    assert clerk.heard[-1] == "cancelled"
    assert b.counters().leased == 0 and b.counters().queued == 5
    attempts = sorted(item.attempts for item in b.inbox())
    assert attempts == [0] * (5 - concurrency) + [1] * concurrency


async def test_serve_takes_only_as_many_as_are_free(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    most = now = 0

    async def handler(m: beeline.Message) -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        assert b.counters().leased <= 7
        await asyncio.sleep(0.001)
        now -= 1

    for i in range(100):
        await a.send("b", str(i))
    service = asyncio.ensure_future(b.serve(handler, concurrency=7))
    while b.counters().done < 100:
        await asyncio.sleep(0.001)
    b.stop_serving()
    assert await service == 100 and most == 7


async def test_serve_ends(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    assert await b.serve(print, timeout=0.01) == 0
    with pytest.raises(ValueError, match="concurrency"):
        await b.serve(print, concurrency=0)
    with pytest.raises(TypeError, match="handler"):
        await b.serve("no function")  # type: ignore[arg-type]
    service = asyncio.ensure_future(b.serve(lambda m: b.stop_serving()))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="concurrency"):
        await b.serve(print)
    await a.send("b", "1")
    await a.send("b", "2")
    assert await service == 1 and b.counters().queued == 1
    service = asyncio.ensure_future(a.serve(print))
    await asyncio.sleep(0)
    await a.aclose()
    assert await service == 0


async def test_a_flood_does_not_keep_the_loop(aio_agent: AioAgentFactory) -> None:
    b = await aio_agent("b")
    await b.peer("b")

    async def feed(m: beeline.Message) -> None:
        await b.send("b", "again", inherit=False)

    await b.send("b", "first")
    assert await b.serve(feed, timeout=0.05) > 1
    async for m in b:
        async with m:
            await b.send("b", "again", inherit=False)
            asyncio.get_running_loop().call_soon(b.stop_serving)
            break
    (await b.receive()).done()


async def test_copies_are_for_those_who_want_them(aio_agent: AioAgentFactory) -> None:
    boss = await aio_agent("boss")
    left, right = [await aio_agent(name, parent="boss") for name in ("left", "right")]
    seen: list[str] = []
    for copies in (False, True):
        await left.send("right", "x", type="t")
        (await right.receive()).done()
        await left.send("boss", "last")
        service = asyncio.ensure_future(boss.serve(lambda m: seen.append(m.type), copies=copies))
        while "" not in seen:
            await asyncio.sleep(0.001)
        service.cancel()
        seen.remove("")
    assert seen == ["sibling_traffic:t"]
