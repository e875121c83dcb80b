"""beeline.aio: each call of an agent once, in the loops of asyncio and of uvloop."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

import beeline
from beeline.pytest_plugin import AioAgentFactory, Hive


LOOPS = [name for name in ("asyncio", "uvloop") if importlib.util.find_spec(name)]


@pytest.fixture(params=LOOPS, autouse=True)
def beeline_loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    loop: asyncio.AbstractEventLoop = importlib.import_module(request.param).new_event_loop()
    yield loop
    loop.close()


@pytest.mark.skipif("uvloop" not in LOOPS, reason="uvloop is not installed")
def test_uvloop_is_tried() -> None:
    pass


async def test_attach_in_both_forms(hive: Hive) -> None:
    async with beeline.attach("boss", role="lead") as boss:
        worker = await beeline.attach("worker", parent="boss")
        assert (boss.name, boss.parent, boss.hive, boss.closed) == ("boss", 1, "default", False)
        assert worker.parent == boss.pid and "boss" in repr(boss)
        with pytest.raises(beeline.AlreadyRunning):
            await beeline.attach("worker")
        await worker.aclose()
        await worker.aclose()
    assert boss.closed and worker.closed and "closed" in repr(boss)
    with pytest.raises(beeline.ClosedError):
        await boss.receive()


async def test_send_and_receive(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    waiting = asyncio.ensure_future(b.receive())
    await asyncio.sleep(0)
    id = await a.send("b", "héllo", type="greeting", channel="c", rank=beeline.HIGH, ttl=60.0)
    async with await waiting as m:
        assert (m.id, m.sender, m.sender_name, m.to) == (id, a.pid, "a", b.pid)
        assert str(m.id) == f"{a.pid}:1"
        assert (m.type, m.channel, m.rank, m.ttl) == ("greeting", "c", 1, 60.0)
        assert (m.text, m.copy(), bytes(m.payload)) == ("héllo", "héllo".encode(), m.copy())
        assert m.relation is beeline.Relation.SIBLING
        assert (m.attempts, m.redelivered, m.is_copy, m.cancelled) == (0, False, False, False)
        assert b.counters().leased == 1
    assert not m.held and b.counters().done == 1
    await a.send(b.pid, b'{"x": 1}')
    m = await b.receive(timeout=60)
    assert m.json() == {"x": 1}
    m.done()


async def test_receive_can_end_without_a_message(aio_agent: AioAgentFactory) -> None:
    b = await aio_agent("b")
    with pytest.raises(TimeoutError):
        await b.receive(timeout=0)
    with pytest.raises(TimeoutError):
        await b.receive(timeout=0.01, type="x")
    assert b.try_receive() is None and b.try_receive_batch(5) == []


async def test_filters_wait_for_their_message(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    wanted = asyncio.ensure_future(b.receive(type="wanted"))
    await asyncio.sleep(0)
    await a.send("b", "1")
    async with await b.receive() as m:
        assert m.text == "1"
        await a.send("b", "2", type="wanted")
        async with await wanted as found:
            assert found.text == "2"


async def test_a_filter_sees_a_message_that_was_put_back(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    await a.send("b", "x", type="t")
    m = await b.receive()
    again = asyncio.ensure_future(b.receive(type="t"))
    await asyncio.sleep(0.01)
    m.put_back()
    async with await again as found:
        assert found.attempts == 0


async def test_requests(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")

    async def answer() -> None:
        async for m in b:
            async with m:
                if m.text == "never":
                    raise beeline.Reject("no")
                if m.text == "reply":
                    await m.reply("as a message")
                elif m.text == "done":
                    m.done("as a text")

    service = asyncio.ensure_future(answer())
    for question, expected in (("reply", "as a message"), ("done", "as a text")):
        async with await a.request("b", question) as reply:
            assert reply.text == expected
    with pytest.raises(beeline.Unanswered):
        await a.request("b", "silence")
    with pytest.raises(beeline.Rejected, match="no"):
        await a.request("b", "never")
    service.cancel()


async def test_a_request_that_is_given_up_is_taken_back(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    with pytest.raises(TimeoutError):
        await a.request("b", "late", timeout=0.01)
    asked = asyncio.ensure_future(a.request("b", "cancelled"))
    id, future = await a.ask("b", "asked")
    await asyncio.sleep(0)
    assert asked.cancel() and future.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    await a.send("b", "last")
    async with await b.receive() as m:
        assert m.text == "last" and m.id > id
    assert {item.reason for item in b.inbox()} == {"cancelled"}
    assert b.purge_dead() == 3


async def test_many_requests_at_once(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    service = asyncio.ensure_future(b.serve(lambda m: m.text.upper(), concurrency=3))
    answers = await asyncio.gather(*(a.request("b", f"x{i}") for i in range(1000)))
    assert [m.text for m in answers] == [f"X{i}" for i in range(1000)]
    a.done_all(answers)
    b.stop_serving()
    assert await service == 1000


async def test_acknowledgements(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    service = asyncio.ensure_future(b.serve(lambda m: f"did {m.text}"))
    said = await a.send_acked("b", "1")
    assert (said.status, said.text, said.is_cut) == (beeline.AckStatus.ACCEPTED, "did 1", False)
    first = await a.send("b", "2", requires_ack=True)
    second = await a.send("b", "3", requires_ack=True)
    assert (await a.ack("b", second)).text == "did 3"
    assert (await a.ack("b", first)).text == "did 2"
    with pytest.raises(TimeoutError):
        await a.ack("b", await a.send("b", "4"), timeout=0.01)
    service.cancel()


async def test_send_waits_for_room_in_turn(aio_agent: AioAgentFactory) -> None:
    a = await aio_agent("a", normal_slots=4)
    b = await aio_agent("b", inbox_capacity=16)
    count = 0
    with pytest.raises(beeline.Full):
        while True:
            await a.send("b", str(count))
            count += 1
    with pytest.raises(beeline.Full):
        await a.send("b", "too late", timeout=0.01)
    waiting = [asyncio.ensure_future(a.send("b", str(count + i), timeout=60)) for i in range(20)]
    await asyncio.sleep(0)
    waiting.pop(5).cancel()
    for i in [*range(count + 5), *range(count + 6, count + 20)]:
        async with await b.receive() as m:
            assert m.text == str(i)
    await asyncio.gather(*waiting)


async def test_send_many(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a", normal_slots=8), await aio_agent("b", inbox_capacity=16)
    texts = [str(i) for i in range(200)]
    fitted = await a.send_many("b", texts)
    assert 0 < fitted < 200
    rest = asyncio.ensure_future(a.send_many("b", texts[fitted:], timeout=60, type="t"))
    received: list[str] = []
    while len(received) < 200:
        m = await b.receive()
        batch = [m, *b.try_receive_batch(32)]
        received += [m.text for m in batch]
        b.done_all(batch)
    assert received == texts and await rest == 200 - fitted
    wrong: Any = ["x", 5, "y"]
    assert await a.send_many("b", wrong, timeout=60) == 1
    (await b.receive()).done()
    with pytest.raises(TypeError):
        await a.send_many("b", wrong[1:])


async def test_errors_of_a_send_have_classes(aio_agent: AioAgentFactory) -> None:
    a = await aio_agent("a", max_payload_bytes=1 << 16)
    await aio_agent("b")
    task = await aio_agent("task", parent="a", role="task")
    with pytest.raises(beeline.NoAgent, match="nobody"):
        await a.send("nobody", "x")
    with pytest.raises(beeline.TooBig) as error:
        await a.send("b", bytes(1 << 17))
    assert error.value.limit == 1 << 16
    with pytest.raises(beeline.Denied, match="parent"):
        await task.send("b", "x")
    with pytest.raises(LookupError, match="peer"):
        a.send_nowait("a", "x")
    with pytest.raises(TypeError):
        await a.send("b", 5)  # type: ignore[arg-type]


async def test_a_name_finds_the_next_agent_after_a_death(aio_agent: AioAgentFactory) -> None:
    a = await aio_agent("a")
    first = await aio_agent("b", temporary=True)
    await a.send("b", "1")
    (await first.receive()).done()
    await first.aclose()
    second = await aio_agent("b")
    await a.send("b", "2", timeout=60)
    async with await second.receive() as m:
        assert m.text == "2" and first.pid != second.pid


async def test_broadcast(aio_agent: AioAgentFactory) -> None:
    boss = await aio_agent("boss")
    children = [await aio_agent(f"w{i}", parent="boss") for i in range(3)]
    other = await aio_agent("other", role="daemon")
    deliveries = await boss.broadcast("children", "all of you", type="news")
    assert all(deliveries) and [d.name for d in deliveries] == ["w0", "w1", "w2"]
    assert len({d.id for d in deliveries}) == 1
    for child in children:
        async with await child.receive() as m:
            assert m.text == "all of you" and m.relation is beeline.Relation.PARENT
    (one,) = await boss.broadcast(beeline.Group.of_role("daemon"), "x")
    (await other.receive()).done()
    assert one.pid == other.pid


async def test_loans(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    async with await a.loan("b", 5000) as loan:
        assert len(loan) == 5000 and loan.peer.pid == b.pid
        with loan.payload as view:
            assert not view.readonly
            view[:5] = b"hello"
            with pytest.raises(BufferError):
                await loan.send()
        loan.shrink(5)
        await loan.send(type="t")
    async with await b.receive() as m:
        assert (m.text, m.type) == ("hello", "t")
    async with await a.loan("b", 64):
        pass  # not sent: it goes back
    assert b.try_receive() is None


async def test_numpy_arrays_travel_without_a_copy(aio_agent: AioAgentFactory) -> None:
    numpy: Any = pytest.importorskip("numpy")
    a, b = await aio_agent("a"), await aio_agent("b")
    await a.send("b", numpy.arange(1000, dtype="f8"))
    loan = await a.loan("b", 8000)
    written = numpy.frombuffer(loan, dtype="f8")
    written[:] = 7
    del written
    await loan.send()
    for total in (499500.0, 7000.0):
        m = await b.receive()
        read = numpy.frombuffer(m.payload, dtype="f8")
        assert read.sum() == total and not read.flags.owndata and not read.flags.writeable
        address = read.__array_interface__["data"][0]
        assert numpy.frombuffer(m, dtype="f8").__array_interface__["data"][0] == address
        with pytest.raises(BufferError, match="1"):
            m.done()
        del read
        m.done()
    with pytest.raises((TypeError, BufferError, ValueError)):
        await a.send("b", numpy.arange(10)[::2])


async def test_results_and_late_answers(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    next_one = asyncio.ensure_future(a.result())
    await asyncio.sleep(0)
    id = await a.fire_and_forget("b", "question")
    async with await b.receive() as m:
        await m.reply("answer")
    async with await next_one as answer:
        assert (answer.text, answer.reply_to) == ("answer", id)
    assert a.results() == []


async def test_control_cancel_and_escalate(aio_agent: AioAgentFactory) -> None:
    boss = await aio_agent("boss")
    child = await aio_agent("child", parent="boss")
    await boss.send("child", "data")
    id = await boss.send("child", "wrong")
    await boss.cancel("child", id)
    await boss.control("child", beeline.STEER, "left")
    async with await child.receive() as m:
        assert m.is_control and (m.type, m.text) == ("steer", "left")
    async with await child.receive() as m:
        assert m.text == "data"
        await child.escalate("help")
        m.escalate()
    for expected in ("help", "data"):
        async with await boss.receive() as m:
            assert (m.type, m.text) == ("escalation", expected)
    (item,) = child.inbox()
    assert item.place is beeline.Place.DEAD and item.reason == "cancelled"
    child.requeue_dead(id)
    async with await child.receive() as m:
        assert m.text == "wrong" and m.redelivered


async def test_the_tree_and_the_inbox(aio_agent: AioAgentFactory) -> None:
    boss = await aio_agent("boss")
    w = [await aio_agent(f"w{i}", parent="boss", role="daemon") for i in range(2)]
    grandchild = await aio_agent("g", parent="w0")
    assert [i.pid for i in await boss.children()] == [w[0].pid, w[1].pid]
    below = [w[0].pid, w[1].pid, grandchild.pid]
    assert [i.pid for i in await boss.children(recursive=True)] == below
    assert [i.name for i in await w[0].siblings()] == ["w1"]
    info = await boss.find("w1")
    assert (info.pid, info.parent, info.role, info.state) == (w[1].pid, boss.pid, "daemon", 0)
    assert (await w[1].info()) == info == await boss.info(w[1].pid)
    w[1].set_sleeping(True)
    assert (await boss.find("w1")).state is beeline.State.SLEEPING
    id = await boss.send("w1", "x" * 100, type="t")
    while not (items := w[1].inbox(type="t")):
        await asyncio.sleep(0.001)  # its loop opens the new link
    (item,) = items
    assert (item.id, item.length, item.preview, item.sender_name) == (id, 100, b"x" * 64, "boss")
    assert item == beeline.look_into_inbox("w1").items[0]
    (link,) = [link for link in boss.links() if link.peer == w[1].pid]
    assert link.sent == 1
    with pytest.raises(beeline.NoAgent):
        await boss.find("nobody")


async def test_peers_are_found_once_and_waited_for(aio_agent: AioAgentFactory) -> None:
    a = await aio_agent("a")
    with pytest.raises(beeline.NoAgent):
        await a.wait_for("b", timeout=0.01)
    waiting = asyncio.ensure_future(a.wait_for("b"))
    given_up = asyncio.ensure_future(a.wait_for("b"))
    await asyncio.sleep(0)
    given_up.cancel()
    b = await aio_agent("b")
    peer = await waiting
    assert peer.pid == b.pid and await a.peer("b") is peer and await a.peer(peer) is peer
    found = await asyncio.gather(*(b.peer("a") for _ in range(2000)))
    assert len(set(map(id, found))) == 1


async def test_notices(aio_agent: AioAgentFactory, hive: Hive) -> None:
    boss = await aio_agent("boss")
    child = await aio_agent("child", parent="boss")
    notices = boss.notices()
    await child.aclose()
    away = await notices.__anext__()
    assert (away.kind, away.name) == (beeline.NoticeKind.CHILD_AWAY, "child")
    ended = asyncio.ensure_future(boss.receive())
    await asyncio.get_running_loop().run_in_executor(None, hive.down)
    assert [notice.kind async for notice in notices] == [beeline.NoticeKind.SHUTDOWN]
    assert [m async for m in boss] == []
    with pytest.raises(beeline.ClosedError):
        await ended


async def test_tasks(aio_agent: AioAgentFactory) -> None:
    boss = await aio_agent("boss")
    left, right = [await aio_agent(name, parent="boss") for name in ("left", "right")]

    async def work() -> None:
        async for run in left.tasks():
            with run:
                run.log("begun")
                await left.send("boss", "meanwhile", type="news")
                run.finish(3, f"{run.description} {run.params} {bytes(run.context)!r}", {"a": "b"})

    async def fail(run: beeline.TaskRun) -> str:
        if run.description == "bad":
            raise ValueError("cannot")
        return "good"

    workers = [asyncio.ensure_future(work()), asyncio.ensure_future(right.serve(print, tasks=fail))]
    await asyncio.sleep(0)
    told: list[beeline.Progress] = []
    task = beeline.Task("sum", {"n": "1"}, context=b"\xff", id="t1")
    result = await boss.execute("left", task, progress=told.append)
    async with await boss.receive(type="news") as news:
        assert news.cause != 0
    assert result == beeline.TaskResult(3, b"sum {'n': '1'} b'\\xff'", {"a": "b"})
    assert [(p.text, p.is_log) for p in told] == [("begun", True)]
    one, two, three = await boss.execute_all([("left", "x"), ("right", "bad"), ("right", "y")])
    assert isinstance(one, beeline.TaskResult) and one.exit_code == 3
    assert isinstance(two, beeline.TaskFailed) and "cannot" in str(two)
    assert isinstance(three, beeline.TaskResult) and three.text == "good"
    (await boss.receive(type="news")).done()
    with pytest.raises(beeline.Denied):
        await left.execute("right", "no child of mine")
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    with pytest.raises(beeline.Rejected):
        await boss.execute("right", "nobody does it")


async def test_detach_waits_for_receivers(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    for i in range(3):
        await a.send("b", str(i))
    leaving = asyncio.ensure_future(a.detach(drain=60))
    messages = [await b.receive() for _ in range(3)]
    assert await leaving == 0
    b.done_all(messages)


async def test_a_close_by_force_ends_a_detach(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    await a.send("b", "x")
    leaving = asyncio.ensure_future(a.detach(drain=60))
    await asyncio.sleep(0.01)
    a._close(force=True)
    assert await asyncio.wait_for(leaving, 10) == 0
    (await b.receive()).done()


async def test_other_threads_send(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    with pytest.raises(LookupError):
        a.send_threadsafe("b", "x")
    await a.peer("b")

    def send(i: int) -> None:
        for j in range(100):
            a.send_threadsafe("b", f"{i} {j}", timeout=60)

    threads = [asyncio.to_thread(send, i) for i in range(4)]
    sending = asyncio.gather(*threads)
    texts = set()
    for _ in range(400):
        async with await b.receive() as m:
            texts.add(m.text)
    await sending
    assert len(texts) == 400
