"""The line of waiters, without a hive."""

from __future__ import annotations

import asyncio

from beeline.aio._driver import Line


async def waiters(line: Line, count: int) -> list[asyncio.Task[bool]]:
    tasks = [asyncio.ensure_future(line.wait(None)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_as_many_are_told_as_there_are_things() -> None:
    line = Line(lambda: None)
    a, b, c = await waiters(line, 3)
    line.tell(1)
    line.tell(2)  # the first one has not looked yet
    await asyncio.gather(a, b)
    assert len(line) == 1
    line.tell_all()
    assert await c and len(line) == 0


async def test_one_that_looks_in_vain_keeps_its_place() -> None:
    line = Line(lambda: None)
    (second,) = await waiters(line, 1)
    first = asyncio.ensure_future(line.wait(None, again=True))
    await asyncio.sleep(0)
    line.tell(1)
    assert await first and not second.done()
    line.tell(1)
    await second


async def test_one_that_ends_unseen_is_reported_if_it_was_told() -> None:
    missed: list[int] = []
    line = Line(lambda: missed.append(1))
    a, b = await waiters(line, 2)
    line.tell(1)
    a.cancel()
    b.cancel()
    await asyncio.gather(a, b, return_exceptions=True)
    assert len(missed) == 1 and len(line) == 0
    alone = line.wait(None)
    alone.send(None)
    line.tell(1)
    alone.close()  # a coroutine that nobody goes on with
    assert len(missed) == 2
    (last,) = await waiters(line, 1)
    line.tell(1)
    assert await last


async def test_a_wait_ends_in_time_and_with_the_line() -> None:
    line = Line(lambda: None)
    assert not await line.wait(asyncio.get_running_loop().time() + 0.001)
    (a,) = await waiters(line, 1)
    line.end("it is over")
    (result,) = await asyncio.gather(a, return_exceptions=True)
    assert "it is over" in str(result) and len(line) == 0
