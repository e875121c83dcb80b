"""An exchange attached to a hive: bad input, other agents, other threads, and ends."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from exchange_help import A, B, C, Start, contents, send_all, start, until

import beeline
from beeline.exchange import Exchange, Mail
from beeline.pytest_plugin import Hive

__all__ = ["start"]  # A fixture.


def meanwhile(call: Callable[[], Any]) -> Any:
    """The result or the error of a call in another thread, for which the loop of this one waits."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error.with_traceback(None))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_an_entity_lives_in_one_process(start: Start) -> None:
    start("echo", B)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            with pytest.raises(beeline.AlreadyRunning):
                exchange.register(B)
            assert B not in exchange and len(exchange.flows) == 0
            for owner in ("worker", 5):
                with pytest.raises(ValueError, match="UUID"):
                    exchange.register(owner)
            exchange.register(A)
            with pytest.raises(ValueError, match="already registered"):
                exchange.register(str(A))
            with pytest.raises(RuntimeError, match="detach"):
                await exchange.attach()

    asyncio.run(main())


def test_detach_gives_back_what_was_not_popped(hive: Hive) -> None:

    async def main() -> None:
        exchange, other = Exchange(), Exchange()
        for each, owner in ((exchange, A), (other, B)):
            each.register(owner)
            await each.attach()
        exchange.send(A, B, 1)
        await exchange.sync()
        await until(lambda: other.receive(B))
        await other.detach()
        assert other.receive(B) == [] and B in other
        await other.attach()
        await until(lambda: other.receive(B))
        mail = other.pop_mail(B, A)
        assert mail is not None and mail.content == 1
        await other.detach()
        await other.detach()
        await exchange.detach()
        other.register(A)
        other.send(A, B, 2)
        assert await other.sync() == 1  # Inside the process again.
        with pytest.raises(RuntimeError):
            other.contact("worker")

    asyncio.run(main())


def test_mail_that_another_thread_has_popped_does_not_come_again(hive: Hive) -> None:

    async def main() -> None:
        async with Exchange() as exchange, Exchange() as other:
            for each, owner in ((exchange, A), (other, B)):
                each.register(owner)
                await each.attach()
            for n in range(2):
                exchange.send(A, B, n)
            await exchange.sync()
            await until(lambda: len(other.receive(B)) == 2)
            assert meanwhile(lambda: other.pop_mail(B, A)).content == 0
            await other.detach()
            await other.attach()
            await until(lambda: other.receive(B))
            assert contents(other.receive(B)) == [1]
            other.unregister(B)

    asyncio.run(main())


def test_what_is_no_json_stays_in_its_process(start: Start) -> None:
    start("echo", B)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            exchange.register(C)
            content = object()
            mail = exchange.send(A, C, content)
            for recipient in (B, None):
                with pytest.raises(ValueError, match="no JSON"):
                    exchange.send(A, recipient, content)
            assert await exchange.sync() == 1 and exchange.receive(C)[0] is mail
            with pytest.raises(ValueError):
                exchange.send(A, B, "\ud800")
            box = exchange.get(A)
            assert box is not None and len(box.items) == 0
            box.add_item(Mail(A, B, content), progressions="outbox")
            assert await exchange.sync() == 0 and len(box.items) == 0

    asyncio.run(main())


def test_a_content_of_100_mb_is_refused_and_one_of_20_mb_arrives(start: Start) -> None:
    start("echo", B)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            error = meanwhile(lambda: exchange.send(A, B, "x" * 100_000_000))
            assert isinstance(error, ValueError) and "limit of the hive" in str(error)
            exchange.send(A, B, "x" * 20_000_000)
            with pytest.raises(ValueError, match="limit of the hive is 67108864"):
                exchange.send(A, B, "x" * 100_000_000)
            assert await send_all(exchange) == 1
            await until(lambda: exchange.receive(A))
            mail = exchange.pop_mail(A, B)
            assert mail is not None and len(mail.content) == 20_000_000

    asyncio.run(main())


def test_agents_that_are_no_entities_take_part(hive: Hive) -> None:
    """A sender cannot be forged, and a message that is no mail becomes a dead letter."""

    async def main() -> None:
        async with beeline.attach("worker") as worker, Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            contact = exchange.contact("worker")
            assert exchange.contact(str(B)) == B
            claims = {key: "x" for key in ("agent", "type", "redelivered", "id", "own")}
            body = json.dumps({"sender": str(B), "content": [1], "metadata": claims})
            await worker.send(str(A), body, type="mail")
            await worker.send(str(A), "text", type="note", channel="c")
            await worker.send(str(A), b"\xff")
            for wrong in ("[]", "{", '{"content": 1, "id": 5}', '{"content": 1, "channel": 5}',
                          '{"content": {"$beeline": {"$bytes": 1}}}', "[" * 50_000):
                await worker.send(str(A), wrong, type="mail")
            await until(lambda: len(exchange.receive(A)) == 3)
            await until(lambda: hive.beeline("dlq", "ls").stdout.count("mail") >= 6)
            mails = exchange.receive(A, contact)
            assert contents(mails) == [[1], "text", b"\xff"] and mails[1].channel == "c"
            assert mails[0].metadata == {"agent": "worker", "own": "x"}
            assert mails[1].metadata == {"agent": "worker", "type": "note"}
            for content in ("text", b"\0", {"n": 1}):
                exchange.send(A, mails[0].sender, content)
            assert await exchange.sync() == 3
            got = [await worker.receive(10) for _ in range(3)]
            assert [m.copy() for m in got] == [b"text", b"\0", b'{"n":1}']
            assert {(m.type, m.sender_name) for m in got} == {("mail", str(A))}
            worker.done_all(got)
            while exchange.pop_mail(A, contact):
                pass

    asyncio.run(main())


def test_mails_of_two_senders_with_one_id_both_arrive(hive: Hive) -> None:

    async def main() -> None:
        async with beeline.attach("mallory") as mallory, Exchange() as one, Exchange() as other:
            await one.attach()
            await other.attach()
            one.register(A)
            other.register(B)
            mail = one.send(A, B, "mine")
            body = json.dumps({"id": str(mail.id), "content": "first"})
            await mallory.send(str(B), body, type="mail")
            await until(lambda: other.receive(B))
            await mallory.send(str(B), body, type="mail")  # Once more: it has that one already.
            assert await one.sync() == 1
            await until(lambda: len(other.receive(B)) == 2)
            found = other.receive(B, sender=A)
            assert contents(found) == ["mine"] and found[0].id != mail.id
            other.unregister(B)

    asyncio.run(main())


def test_other_threads_and_loops_use_an_attached_exchange(start: Start) -> None:
    """LP-038, C-18"""
    start("echo", B)

    def elsewhere(exchange: Exchange) -> list[Any]:
        async def main() -> list[Any]:
            exchange.register(C)
            exchange.send(C, B, "from a thread")
            await exchange.sync()  # run() of the other loop may have sent it already
            await until(lambda: exchange.receive(C, B))
            mail = exchange.pop_mail(C, B)
            assert mail is not None and exchange.pop_mail(C, B) is None
            assert await exchange.collect(C) == 0
            exchange.unregister(C)
            return [mail.content]

        return asyncio.run(main())

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            running = asyncio.create_task(exchange.run(interval=0.01))
            assert await asyncio.to_thread(elsewhere, exchange) == ["from a thread"]
            exchange.stop()
            await running

    asyncio.run(main())


def test_a_call_that_a_thread_has_given_up_does_nothing_later(
    hive: Hive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beeline.exchange.courier._OTHER_THREAD_PATIENCE", 0.1)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            assert isinstance(meanwhile(lambda: exchange.register(C)), TimeoutError)
            assert isinstance(meanwhile(lambda: exchange.unregister(A)), TimeoutError)
            await asyncio.sleep(0.05)
            assert str(C) not in hive.beeline("tree").stdout and exchange.owner_ids == [A]
            exchange.register(C)
            exchange.send(C, A, 1)
            assert await exchange.sync() == 1 and contents(exchange.receive(A)) == [1]
            for owner in (A, C):
                exchange.unregister(owner)

    asyncio.run(main())


def test_a_second_loop_is_refused_while_the_first_one_lives(hive: Hive) -> None:
    exchange = Exchange()
    first = asyncio.new_event_loop()
    first.run_until_complete(exchange.attach())
    exchange.register(A)
    for call in (exchange.sync, exchange.detach):
        with pytest.raises(beeline.WrongLoop, match="second event loop"):
            asyncio.run(asyncio.wait_for(call(), 10))
    exchange.send(A, A, 1)
    assert first.run_until_complete(exchange.sync()) == 1
    first.run_until_complete(exchange.detach())
    first.close()


def test_a_thread_cannot_use_a_closed_loop(hive: Hive, recwarn: pytest.WarningsRecorder) -> None:
    exchange = Exchange()
    asyncio.run(exchange.attach())
    exchange.register(A)
    exchange.send(A, A, 1)
    asyncio.run(exchange.sync())
    assert meanwhile(lambda: exchange.pop_mail(A, A)).content == 1
    for call in (lambda: asyncio.run(exchange.sync()), lambda: exchange.unregister(A)):
        error = meanwhile(call)
        assert isinstance(error, beeline.WrongLoop) and "closed" in str(error) and A in exchange
    del error
    gc.collect()
    assert not recwarn.list
    asyncio.run(exchange.detach())


def test_an_exchange_moves_to_a_new_loop_when_its_loop_is_closed(start: Start) -> None:
    start("echo", B)
    exchange = Exchange()

    async def begin() -> None:
        await exchange.attach()
        exchange.register(A)

    async def go_on() -> None:
        exchange.send(A, B, 1)
        assert await exchange.sync() == 1
        await until(lambda: exchange.receive(A))
        exchange.pop_mail(A, B)
        exchange.unregister(C)
        await exchange.detach()

    asyncio.run(begin())
    exchange.register(C)  # No loop runs.
    asyncio.run(go_on())


def test_a_cancelled_sync_loses_no_mail(hive: Hive) -> None:

    async def main() -> None:
        async with Exchange() as exchange, Exchange() as other:
            await exchange.attach(patience=60)
            await other.attach()
            exchange.register(A)
            other.register(B)
            for n in range(400):
                exchange.send(A, B, n)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(exchange.sync(), 0.1)
            came: list[int] = []
            running = asyncio.create_task(exchange.sync())
            while len(came) < 400:
                while mail := other.pop_mail(B, A):
                    came.append(mail.content)
                await asyncio.sleep(0)
            await running
            assert came == list(range(400))

    asyncio.run(main())


@pytest.mark.beeline_leaves("lease", "process", "file")
@pytest.mark.parametrize("end", ["detach", "unregister"])
def test_an_end_of_the_hive_loses_no_mail_of_this_process(hive: Hive, end: str) -> None:

    async def main() -> None:
        async with Exchange() as exchange, Exchange() as other:
            await exchange.attach()
            await other.attach(control_timeout=0.5, start_coordinator=False)
            exchange.register(A)
            other.register(B)
            for n in range(3):
                exchange.send(A, B, n)
            assert await exchange.sync() == 3
            await until(lambda: len(other.receive(B)) == 3)
            exchange.send(A, B, "late")
            await asyncio.to_thread(hive.beeline, "down")
            await asyncio.sleep(0.1)
            with pytest.raises(beeline.BeelineError):
                await exchange.sync()
            assert repr(exchange) == "Exchange(entities=1, pending_out=1)"
            mail = other.pop_mail(B, A)
            assert mail is not None and mail.content == 0
            assert contents(other.receive(B)) == [1, 2]
            if end == "unregister":
                box = other.unregister(B)
                assert box is not None and contents(list(box.items)) == [1, 2]

    asyncio.run(main())


def test_an_entity_that_leaves_during_a_sync_stops_no_other(hive: Hive) -> None:
    """LP-035, LP-037"""

    async def main() -> None:
        async with Exchange() as exchange, Exchange() as other:
            await exchange.attach(patience=60)
            await other.attach()
            for owner in (A, C):
                exchange.register(owner)
            other.register(B)
            for n in range(400):
                exchange.send(A, B, n)
            syncing = asyncio.create_task(exchange.sync())
            await until(lambda: len(other.receive(B)) == 192)
            box = exchange.unregister(A)
            assert await syncing == 192 and box is not None and len(box.outbox) == 208
            exchange.send(C, B, "still here")
            assert await exchange.sync() == 1
            other.unregister(B)

    asyncio.run(main())


def test_a_crash_of_the_coordinator_stops_no_mail(start: Start, hive: Hive) -> None:
    start("echo", B)

    async def main() -> None:
        async with Exchange() as exchange:
            await exchange.attach()
            exchange.register(A)
            exchange.send(A, B, 1)
            assert await exchange.sync() == 1
            os.kill(hive.coordinator, signal.SIGKILL)
            exchange.send(A, B, 2)
            exchange.send(A, None, 3)
            exchange.register(C)
            assert await send_all(exchange) == 2
            await until(lambda: len(exchange.receive(A, sender=B)) == 3)
            assert contents(exchange.receive(C)) == [3]
            while exchange.pop_mail(A, B):
                pass
            exchange.unregister(C)

    asyncio.run(main())


def test_an_order_to_shut_down_stops_the_loop(hive: Hive) -> None:

    async def main() -> None:
        async with beeline.attach("boss") as boss, Exchange() as exchange:
            await exchange.attach(parent="boss")
            exchange.register(A)
            running = asyncio.create_task(exchange.run(interval=0.01))
            await asyncio.sleep(0)
            await boss.control(str(A), beeline.SHUTDOWN)
            await asyncio.wait_for(running, 60)
            exchange.unregister(A)

    asyncio.run(main())


def test_a_bad_hive_is_an_error_of_attach(hive: Hive) -> None:

    async def main() -> None:
        exchange = Exchange()
        exchange.register(A)
        os.environ["BEELINE_DIR"] = "/dev/null/none"
        with pytest.raises(beeline.BeelineError):
            await exchange.attach()
        exchange.send(A, A, 1)
        assert await exchange.sync() == 1

    before = os.environ["BEELINE_DIR"]
    try:
        asyncio.run(main())
    finally:
        os.environ["BEELINE_DIR"] = before
