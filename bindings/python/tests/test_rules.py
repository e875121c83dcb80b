"""The rules for a binding, each from a bug that another one had."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import warnings
from typing import Any

import pytest

import beeline
import beeline.sync
from beeline.pytest_plugin import AioAgentFactory, Hive

CANCELS = int(os.environ.get("BEELINE_CANCELS", "100000"))


# ---- Wake, then take ----


async def test_cancelled_receives_lose_nothing(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    sent, cancelled = 0, 0
    got: list[str] = []

    def take(m: beeline.Message) -> None:
        assert not m.redelivered and m.attempts == 0
        got.append(m.text)
        m.done()

    while cancelled < CANCELS:
        waiting = [asyncio.ensure_future(b.receive()) for _ in range(50)]
        await asyncio.sleep(0)
        for _ in range(cancelled % 7):
            await a.send("b", str(sent))
            sent += 1
        for _ in range(cancelled % 4):
            await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        for result in await asyncio.gather(*waiting, return_exceptions=True):
            if isinstance(result, beeline.Message):
                take(result)
            else:
                assert isinstance(result, asyncio.CancelledError)
                cancelled += 1
    while (m := b.try_receive()) is not None:
        take(m)
    assert sorted(map(int, got)) == list(range(sent)) and sent > 0
    assert b.counters().requeued == 0


async def test_a_cancelled_attach_leaves_its_name(hive: Hive) -> None:
    async with beeline.attach("a"):
        attaching = asyncio.ensure_future(beeline.attach("b")._run())
        await asyncio.sleep(0)
        while '"b"' not in hive.log():
            pass  # The loop must not see that it is ready.
        attaching.cancel()
        with pytest.raises(asyncio.CancelledError) as kept:
            await attaching
        assert any(frame.name == "_run" for frame in kept.traceback)
        for _ in range(2000):  # The coordinator hears of it soon.
            with contextlib.suppress(beeline.AlreadyRunning):
                await (await beeline.attach("b")).aclose()
                return
            await asyncio.sleep(0.001)
        raise AssertionError("the name is still taken")


async def test_wait_for_of_asyncio_is_safe_too(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    got = 0
    sending = asyncio.ensure_future(a.send_many("b", [str(i) for i in range(300)], timeout=60))
    while got < 300:
        try:
            async with await asyncio.wait_for(b.receive(), 1e-5) as m:
                assert m.attempts == 0
                got += 1
        except asyncio.TimeoutError:
            pass
    await sending


async def test_a_woken_waiter_that_is_cancelled_wakes_the_next(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    first, second = [asyncio.ensure_future(b.receive()) for _ in range(2)]
    await asyncio.sleep(0)
    await a.send("b", "x")
    b._driver._poll()  # tells the first waiter, which has not run yet
    first.cancel()
    async with await second as m:
        assert m.text == "x" and first.cancelled()


async def test_a_message_waits_in_the_inbox_for_the_next_receive(
    aio_agent: AioAgentFactory,
) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    with pytest.raises(TimeoutError):
        await b.receive(timeout=0.01)
    for _ in range(3):
        await a.send("b", "x")
    while b.counters().drained < 3:
        await asyncio.sleep(0.001)
    assert (b.counters().leased, b.counters().queued) == (0, 3)
    for _ in range(3):
        (await b.receive()).done()


# ---- Many waiters, high descriptors ----


async def test_a_thousand_waiters_are_served_in_turn(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    order: list[tuple[int, str]] = []

    async def wait(place: int) -> None:
        async with await b.receive() as m:
            order.append((place, m.text))

    waiting = [asyncio.ensure_future(wait(i)) for i in range(1000)]
    await asyncio.sleep(0)
    for i in range(1000):
        await a.send("b", str(i), timeout=60)
    await asyncio.gather(*waiting)
    assert order == [(i, str(i)) for i in range(1000)]


async def test_descriptors_above_1024(aio_agent: AioAgentFactory) -> None:
    low, high = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(high, 4096), high))
    blocked = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        async with beeline.attach("a") as a:
            assert a.fileno() > 1024
            waiting = asyncio.ensure_future(a.receive())
            await asyncio.sleep(0)
            await a.send("a", "x")
            (await waiting).done()
        with beeline.sync.attach("b") as b:
            b.send("b", "x")
            b.receive().done()
            with pytest.raises(TimeoutError):
                b.receive(timeout=0.01)
    finally:
        for descriptor in blocked:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (low, high))


# ---- Threads and loops ----


async def test_another_thread_and_another_loop_are_refused(aio_agent: AioAgentFactory) -> None:
    a = await aio_agent("a")
    a.try_receive()
    waiting = asyncio.ensure_future(a.receive())
    await asyncio.sleep(0)
    with pytest.raises(beeline.WrongThread):
        await asyncio.to_thread(a.try_receive)
    with pytest.raises(beeline.WrongThread):
        await asyncio.to_thread(lambda: asyncio.run(a.receive()))
    waiting.cancel()


def test_a_second_loop_is_refused_while_the_first_lives(
    beeline_loop: asyncio.AbstractEventLoop, aio_agent: AioAgentFactory
) -> None:
    a = beeline_loop.run_until_complete(aio_agent("a"))
    with pytest.raises(TimeoutError):
        beeline_loop.run_until_complete(a.receive(timeout=0.01))
    with pytest.raises(beeline.WrongLoop, match="loop that uses it first"):
        asyncio.run(a.receive())


def test_a_closed_loop_is_left(hive: Hive) -> None:
    async def use() -> tuple[beeline.Agent, beeline.Message]:
        agent = await beeline.attach("a")
        await agent.send("a", "x")
        return agent, await agent.receive()

    agent, m = asyncio.run(use())
    m.done()
    agent.try_receive()

    async def go_on() -> None:
        await agent.send("a", "y")
        (await agent.receive()).done()
        await agent.aclose()

    asyncio.run(go_on())


async def test_the_last_reference_may_be_dropped_in_another_thread(
    aio_agent: AioAgentFactory,
) -> None:
    b = await aio_agent("b")
    await b.send("b", "x" * 1000)
    held = [await b.receive()]
    loans = [await b.loan("b", 1 << 16)]

    def drop() -> None:
        held.clear()
        loans.clear()
        gc.collect()

    await asyncio.to_thread(drop)
    async with await b.receive() as m:
        assert m.text == "x" * 1000 and m.redelivered


# ---- Views ----


async def test_a_lease_lives_as_long_as_its_views(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    await a.send("b", "x" * 100)
    m = await b.receive()
    view = m.payload
    slice = view[2:]
    ends: list[Any] = [m.done, m.requeue, m.put_back, m.reject, m.escalate]
    for end in ends:
        with pytest.raises(BufferError, match="copy"):
            end()
    with pytest.raises(BufferError):
        async with m:
            pass
    with pytest.raises(BufferError, match="views"):
        await b.aclose()
    with pytest.raises(TypeError):
        view[0] = 1
    assert m.held and not b.closed and bytes(slice) == b"x" * 98
    copy = m.copy()
    slice.release()
    view.release()
    m.done()
    with pytest.raises(BufferError):
        memoryview(m)  # type: ignore[arg-type]
    assert copy == b"x" * 100 and m.sender_name == "a" and m.type == ""


async def test_an_error_in_the_body_wins_over_views(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    await a.send("b", "x" * 100)
    with pytest.raises(ZeroDivisionError):
        async with await b.receive() as m:
            view = m.payload
            raise ZeroDivisionError
    view.release()
    del m
    gc.collect()
    async with await b.receive() as again:
        assert again.attempts == 1


async def test_aclose_gives_back_what_is_held(hive: Hive) -> None:
    agent = await beeline.attach("a")
    await agent.send("a", "x")
    m = await agent.receive()
    await agent.aclose()
    assert not m.held
    with pytest.raises(beeline.ClosedError):
        m.done()
    async with beeline.attach("a") as successor, await successor.receive() as again:
        assert again.redelivered and again.text == "x"


async def test_a_dropped_agent_warns_and_leaves(hive: Hive) -> None:
    agent = await beeline.attach("a")
    await agent.send("a", "x")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del agent
        gc.collect()
    assert [w.category for w in caught] == [ResourceWarning]
    async with beeline.attach("a") as a:
        (await a.receive()).done()


# ---- Iterators ----


async def test_a_cancelled_step_does_not_end_the_iterator(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    messages = b.messages()
    for _ in range(3):
        step = asyncio.ensure_future(messages.__anext__())
        await asyncio.sleep(0)
        step.cancel()
    await a.send("b", "x")
    (await messages.__anext__()).done()


async def test_iterators_end_with_the_agent(aio_agent: AioAgentFactory) -> None:
    b = await aio_agent("b")
    kinds: list[Any] = [b, b.messages(type="t"), b.notices(), b.tasks()]
    reading = [asyncio.ensure_future(anext(aiter(kind), None)) for kind in kinds]
    await asyncio.sleep(0)
    await b.aclose()
    assert await asyncio.gather(*reading) == [None] * 4


async def test_what_an_iterator_has_fetched_goes_back(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    for i in range(10):
        await a.send("b", str(i))
    async for m in b.messages(batch=5):
        async with m:
            assert b.counters().leased == 5
        break
    assert b.counters().leased == 0
    for i in range(1, 10):
        async with await b.receive() as m:
            assert (m.text, m.attempts) == (str(i), 0)


async def test_a_message_keeps_its_agent(hive: Hive) -> None:
    agent: Any = await beeline.attach("a")
    await agent.send("a", "x")
    m = await agent.receive()
    del agent
    gc.collect()
    assert m.agent.name == "a" and m.text == "x"
    m.done()
    await m.agent.aclose()


# ---- The message in hand ----


async def test_child_tasks_inherit_from_the_message_in_hand(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b")
    traces = [f"00-0af7651916cd43dd8448eb211c80319{i}-b7ad6b7169203331-01" for i in range(2)]
    ids = [await a.send("b", str(i), trace=trace) for i, trace in enumerate(traces)]

    async def handle(m: beeline.Message) -> None:
        await asyncio.sleep(0.001)

        async def child() -> None:
            assert beeline.current_message() is m
            await b.send("a", m.text)

        await asyncio.create_task(child())

    service = asyncio.ensure_future(b.serve(handle, concurrency=2))
    for _ in range(2):
        async with await a.receive() as m:
            i = int(m.text)
            assert (m.cause, m.trace, m.hops) == (ids[i], traces[i], 1)
    b.stop_serving()
    await service
    assert beeline.current_message() is None
    await b.send("a", "of its own")
    async with await a.receive() as m:
        assert (m.cause, m.trace, m.hops) == (0, "", 0)


async def test_the_context_does_not_keep_a_message(aio_agent: AioAgentFactory) -> None:
    b = await aio_agent("b")
    await b.send("b", "x")
    m: Any = await b.receive()
    assert beeline.current_message() is m
    del m
    assert beeline.current_message() is None
    async with await b.receive() as m:
        assert m.attempts == 1


async def test_a_full_inbox_does_not_turn_the_loop(aio_agent: AioAgentFactory) -> None:
    a, b = await aio_agent("a"), await aio_agent("b", inbox_capacity=16)
    for _ in range(30):
        await a.send("b", "x")
    held: list[beeline.Message] = []
    with pytest.raises(TimeoutError):
        while True:
            held.append(await b.receive(timeout=0.01))
    waiting = asyncio.ensure_future(b.receive())
    await asyncio.sleep(0.01)
    polls = 0

    def count(_: object) -> None:
        nonlocal polls
        polls += 1

    b._driver.listeners.add(count)
    await asyncio.sleep(0.05)
    assert polls < 10 and not waiting.done()
    held.pop().done()
    (await waiting).done()
    b.done_all(held)
    b._driver.listeners.clear()


def test_the_loop_of_an_agent_that_spins_never_sleeps(hive: Hive) -> None:
    async def turns(wait: str) -> set[float | None]:
        loop: Any = asyncio.get_running_loop()
        waits: set[float | None] = set()
        select = loop._selector.select

        def watched(timeout: float | None = None) -> Any:
            waits.add(timeout)
            return select(timeout)

        async with beeline.attach("a", wait=wait) as agent:
            await agent.send(agent.pid, "x")
            (await agent.receive()).done()
            loop._selector.select = watched
            await asyncio.sleep(0.01)
            loop._selector.select = select
        return waits

    assert asyncio.run(turns("spin")) == {0}
    assert asyncio.run(turns("sleep")) != {0}
