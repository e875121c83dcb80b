"""An exchange attached to a hive: entities of several processes."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from exchange_help import A, B, C, Start, contents, send_all, start, until

from beeline.exchange import Exchange
from beeline.pytest_plugin import Hive

__all__ = ["start"]  # A fixture.


def test_a_mail_arrives_in_another_process_and_is_answered(start: Start) -> None:
    """LP-020, LP-024, LP-031, C-34: the same calls, another object."""
    start("echo", B)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            assert exchange.register(A).name == str(A)
            content: dict[str, Any] = {"bytes": b"\0\xff", "id": C, "text": "\N{SNOWMAN}"}
            content["n"] = [1.5, None]
            long = "a channel of more than thirty-one bytes"
            for channel in (None, "tasks", long, ""):
                exchange.send(A, B, content, channel)
            content["n"] = "changed after the send"
            assert await exchange.sync() == 4 and exchange.receive(A) == []
            await until(lambda: len(exchange.receive(A, sender=B)) == 4)
            mails = exchange.receive(A)
            assert [mail.channel for mail in mails] == [None, "tasks", long, ""]
            for mail in mails:
                assert mail.content == {**content, "n": [1.5, None]}
                assert (mail.sender, mail.recipient, mail.metadata) == (B, A, {})
            popped = exchange.pop_mail(A, B)
            assert popped is mails[0] and len(exchange.receive(A)) == 3
            while exchange.pop_mail(A, B):
                pass

    asyncio.run(main())


def test_a_broadcast_reaches_the_entities_of_all_processes(start: Start, hive: Hive) -> None:
    """LP-032, C-34: one id, one count, and agents that are no entities get none."""
    start("echo", B)
    hive.beeline("inbox", "worker", "--as", "worker", check=False)

    async def main() -> None:
        async with Exchange() as exchange, Exchange() as other:
            await exchange.attach()
            await other.attach()
            for id in (A, C):
                exchange.register(id)
            mail = exchange.send(A, None, {"n": 1})
            late = uuid4()
            other.register(late)
            assert await exchange.sync() == 1
            await until(lambda: exchange.receive(A) and other.receive(late))
            copies = [*exchange.receive(C), *other.receive(late)]
            assert copies == [mail, mail] and copies[0] is not mail
            assert all(found.is_broadcast and found.sender == A for found in copies)
            assert contents(exchange.receive(A, sender=B)) == [{"n": 1}]
            exchange.unregister(C)
            other.unregister(late)
            exchange.pop_mail(A, B)

    asyncio.run(main())


@pytest.mark.beeline_leaves("lease")
def test_mail_that_was_not_popped_comes_again_after_a_kill(start: Start) -> None:
    """LP-021, LP-022, C-07: in order, and marked."""
    first = start("keep", B, 5, 2)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            for n in range(5):
                exchange.send(A, B, n)
            assert await exchange.sync() == 5
            lines = await asyncio.to_thread(first.read_until, "popped")
            assert lines == [[str(A), n, False] for n in range(5)]
            first.kill()
            exchange.send(A, B, 5)
            assert await send_all(exchange) == 1  # Nobody is there; the hive keeps it.
            second = start("keep", B, 4, 0)
            lines = await asyncio.to_thread(second.read_until, "popped")
            assert lines == [[str(A), n, n < 5] for n in (2, 3, 4, 5)]

    asyncio.run(main())


def test_mail_of_a_sender_that_is_killed_arrives(start: Start) -> None:
    """C-07: once it was counted."""
    sender = start("talk", B, 100, A)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            sender.go_on()
            await until(lambda: exchange.receive(A))
            sender.kill()
            await asyncio.sleep(0.1)
            numbers = contents(exchange.receive(A, sender=B))
            assert numbers == list(range(len(numbers)))
            exchange.send(A, B, "nobody there")
            assert await send_all(exchange) == 1
            exchange.unregister(A)

    asyncio.run(main())


@pytest.mark.beeline_leaves("lease")
def test_no_mail_is_lost_when_its_receiver_is_killed_again_and_again(
    start: Start, tmp_path: Path
) -> None:
    """C-07: each mail is seen; a second time only with the mark."""
    path, count = tmp_path / "seen", 1500

    def seen() -> list[Any]:
        return [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []

    async def kill_some() -> None:
        for _ in range(6):
            process = await asyncio.to_thread(start, "seen", B, path)
            await asyncio.sleep(random.uniform(0.0, 0.1))
            process.kill()
        await asyncio.to_thread(start, "seen", B, path)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            start("seen", B, path).kill()  # From now on the hive knows the entity.
            for n in range(count):
                exchange.send(A, B, n)
            kills = asyncio.create_task(kill_some())
            assert await send_all(exchange) == count
            await kills
            await until(lambda: len({content for _, content, _ in seen()}) == count)

    asyncio.run(main())
    before: set[int] = set()
    for sender, content, again in seen():
        assert sender == str(A) and (content not in before or again)
        before.add(content)


def test_four_processes_deliver_each_mail_once_and_in_order(start: Start) -> None:
    """LP-035, LP-038, C-18"""
    ids = [uuid4() for _ in range(4)]
    processes = [start("talk", me, 300, *(o for o in ids if o != me)) for me in ids]
    for process in processes:
        process.go_on()
    for me, process in zip(ids, processes):
        lines = process.read_until("done")
        for other in ids:
            numbers = [content for sender, content, _ in lines if sender == str(other)]
            assert numbers == (list(range(300)) if other != me else [])
    for process in processes:
        process.go_on()


def test_a_recipient_without_room_delays_no_other(start: Start) -> None:
    """LP-039: its mail waits in the outbox, in order."""
    start("echo", B)

    async def main() -> None:
        async with Exchange() as exchange, Exchange() as slow:
            await exchange.attach()
            await slow.attach()
            exchange.register(A)
            slow.register(C)
            for n in range(500):
                exchange.send(A, C, n)
            for n in range(20):
                exchange.send(A, B, n)
            assert 20 + 128 <= await exchange.sync() < 520
            await until(lambda: len(exchange.receive(A)) == 20)
            begin = time.monotonic()
            exchange.send(A, B, 20)
            assert await exchange.sync() >= 1 and time.monotonic() - begin < 60
            await until(lambda: contents(exchange.receive(A, B)) == list(range(21)))
            came: list[int] = []
            while len(came) < 500:
                while mail := slow.pop_mail(C, A):
                    came.append(mail.content)
                await exchange.sync()
            assert came == list(range(500))
            while exchange.pop_mail(A, B):
                pass

    asyncio.run(main())


def test_unregister_forgets_the_entity(start: Start, hive: Hive) -> None:
    """LP-012, LP-033, C-16, C-17"""

    async def main() -> None:
        async with Exchange() as exchange, Exchange() as other:
            await exchange.attach()
            await other.attach()
            exchange.register(A)
            other.register(B)
            exchange.send(A, B, 1)
            exchange.send(A, B, 2)
            assert await exchange.sync() == 2
            await until(lambda: len(other.receive(B)) == 2)
            exchange.send(A, B, "not read")
            assert await exchange.sync() == 1
            box = other.unregister(B)
            assert box is not None and contents(list(box.items)) == [1, 2, "not read"]
            assert str(B) not in hive.beeline("tree").stdout
            exchange.send(A, B, "too late")
            assert await exchange.sync() == 0 and repr(exchange).endswith("pending_out=0)")
            assert len(other.register(B).items) == 0 and other.receive(B) == []
            exchange.send(A, B, 3)
            assert await exchange.sync() == 1
            await until(lambda: contents(other.receive(B)) == [3])
            other.unregister(B)

    asyncio.run(main())
