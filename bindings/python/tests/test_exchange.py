"""An exchange inside one process."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import pytest

from beeline.exchange import OUTBOX, Element, Exchange, Flow, Mail, ValidationError


def people(count: int = 3) -> tuple[Exchange, list[UUID]]:
    exchange = Exchange()
    ids = [uuid4() for _ in range(count)]
    for id in ids:
        exchange.register(id)
    return exchange, ids


def contents(mails: list[Mail]) -> list[Any]:
    return [mail.content for mail in mails]


def sync(exchange: Exchange) -> int:
    return asyncio.run(exchange.sync())


def test_an_exchange_is_an_element_and_true_when_empty() -> None:
    """LP-010"""
    exchange = Exchange(metadata={"a": 1})
    assert len(exchange) == 0 and bool(exchange) and OUTBOX == "outbox"
    assert exchange.metadata == {"a": 1} and hash(exchange) == hash(exchange.id)
    with pytest.raises(ValidationError):
        Exchange(colour="red")


def test_owners_register_once() -> None:
    """LP-011, LP-013"""
    exchange, (a, b, c) = people()
    with pytest.raises(ValueError, match=f"Owner {a} already registered"):
        exchange.register(a)
    assert exchange.owner_ids == [a, b, c] and len(exchange) == 3
    flow = exchange.get(a)
    assert isinstance(flow, Flow) and flow is exchange.get(a) and flow.name == str(a)
    assert exchange.has(a) and a in exchange
    assert not exchange.has(uuid4()) and str(a) not in exchange and exchange.get("x") is None
    assert list(exchange.flows) == [exchange.get(id) for id in (a, b, c)]
    exchange.register("a text")
    assert "a text" in exchange


def test_an_owner_that_leaves_keeps_its_mail() -> None:
    """LP-012"""
    exchange, (a, b, _) = people()
    exchange.send(a, b, 1)
    sync(exchange)
    exchange.send(b, a, 2)
    box = exchange.unregister(b)
    assert box is not None and sorted(contents(list(box.items))) == [1, 2]
    assert exchange.unregister(b) is None and b not in exchange and len(exchange.flows) == 2
    assert sync(exchange) == 0 and exchange.receive(a) == []
    assert len(exchange.register(b).items) == 0


def test_an_exchange_shows_what_is_pending() -> None:
    """LP-014"""
    exchange, (a, b, _) = people()
    exchange.send(a, b, 1)
    assert repr(exchange) == "Exchange(entities=3, pending_out=1)"


@pytest.mark.parametrize("way", ["python", "json", "text", "flows"])
def test_an_exchange_comes_back_with_all_owners_and_mail(way: str) -> None:
    """LP-015, C-33"""
    exchange, (a, b, c) = people()
    exchange.register("a text")
    exchange.send(a, b, {"n": b"1"}, "x")
    exchange.send(c, b, 2)
    exchange.send(a, b, 3)
    sync(exchange)
    exchange.send(b, None, "later")
    again: Element
    if way == "flows":
        again = Exchange(flows=exchange.flows, id=exchange.id)
    elif way == "text":
        again = Exchange.from_json(exchange.to_json())
    else:
        again = Element.from_dict(exchange.to_dict(way))
    assert isinstance(again, Exchange) and again == exchange
    assert again.owner_ids == exchange.owner_ids
    assert again.receive(b) == exchange.receive(b)
    assert contents(again.receive(b)) == [{"n": b"1"}, 3, 2]
    assert sync(again) == 1 and contents(again.receive(c)) == ["later"]
    popped = again.pop_mail(b, a)
    assert popped is not None and popped.channel == "x"


def test_a_mail_waits_in_the_outbox_until_a_sync() -> None:
    """LP-020"""
    exchange, (a, b, _) = people()
    mail = exchange.send(a, b, "hi", "talk")
    box = exchange.get(a)
    assert box is not None and list(box.outbox) == [mail.id] and mail in box.items
    assert exchange.receive(b) == []
    for sender, recipient, error in ((uuid4(), b, "not registered"), (a, "x", "UUID")):
        with pytest.raises(ValueError, match=error):
            exchange.send(sender, recipient, 1)
    assert exchange.send(a, str(b)).recipient == b and len(box.outbox) == 2


def test_receive_takes_nothing() -> None:
    """LP-021, LP-023"""
    exchange, (a, b, c) = people()
    for sender, content in ((c, 1), (a, 2), (c, 3), (a, 4)):
        exchange.send(sender, b, content)
        sync(exchange)
    exchange.send(b, a, "not mine")
    assert contents(exchange.receive(b)) == [1, 3, 2, 4]
    assert contents(exchange.receive(b, sender=a)) == [2, 4]
    first = exchange.receive(b)[0]
    assert first is exchange.receive(b)[0]
    assert exchange.receive(uuid4()) == exchange.receive(b, uuid4()) == []
    box = exchange.get(b)
    assert box is not None and list(box.inboxes) == [c, a]
    assert box.get_progression(f"inbox_{c}") is box.inboxes[c]


def test_pop_takes_the_oldest_of_a_sender() -> None:
    """LP-022, LP-023"""
    exchange, (a, b, c) = people()
    for content in (1, 2):
        exchange.send(a, b, content)
        exchange.send(c, b, -content)
    sync(exchange)
    popped = [exchange.pop_mail(b, a) for _ in range(3)]
    assert [mail and mail.content for mail in popped] == [1, 2, None]
    assert contents(exchange.receive(b)) == [-1, -2]
    assert exchange.pop_mail(uuid4(), a) is exchange.pop_mail(b, uuid4()) is None
    box = exchange.get(b)
    assert box is not None and len(box.items) == 2


def test_a_channel_is_carried() -> None:
    """LP-024"""
    exchange, (a, b, _) = people()
    for channel in (None, "tasks", "debug"):
        exchange.send(a, b, "x", channel=channel)
    sync(exchange)
    assert [mail.channel for mail in exchange.receive(b)] == [None, "tasks", "debug"]


def test_collect_counts_mail_that_reached_a_recipient() -> None:
    """LP-030, LP-033, LP-034, C-17"""
    exchange, (a, b, c) = people()
    ghost = uuid4()
    for recipient in (b, None, ghost, a):
        exchange.send(a, recipient, "x")
    exchange.send(c, b, "not collected")
    assert asyncio.run(exchange.collect(a)) == 3
    assert len(exchange.receive(b)) == 2 and len(exchange.receive(a, a)) == 1
    with pytest.raises(ValueError, match=f"Owner {ghost} not registered"):
        asyncio.run(exchange.collect(ghost))
    exchange.register(ghost)
    assert asyncio.run(exchange.collect(a)) == 0 and exchange.receive(ghost) == []


def test_a_mail_that_is_there_already_is_not_counted() -> None:
    """LP-030, C-17"""
    exchange, (a, b, _) = people()
    mail = exchange.send(a, b, 1)
    sync(exchange)
    box = exchange.get(a)
    assert box is not None
    box.add_item(mail, progressions=OUTBOX)
    assert sync(exchange) == 0 and exchange.receive(b) == [mail]


def test_a_dropped_mail_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """LP-033, C-17"""
    exchange, (a, _, _) = people()
    exchange.send(a, uuid4(), 1)
    assert sync(exchange) == 0 and "is dropped" in caplog.text


def test_a_direct_mail_is_the_object_of_the_sender() -> None:
    """LP-031, C-34"""
    exchange, (a, b, _) = people()
    mail = exchange.send(a, b, {"n": 1})
    sync(exchange)
    box = exchange.get(a)
    assert exchange.receive(b)[0] is mail and box is not None and len(box.items) == 0


class Stubborn:
    def __deepcopy__(self, memo: object) -> Stubborn:
        raise TypeError("no copies of me")


def test_a_broadcast_is_a_copy_for_each() -> None:
    """LP-032, C-34"""
    exchange, (a, b, c) = people()
    mail = exchange.send(a, None, {"n": [1]}, "all")
    late = uuid4()
    exchange.register(late)
    assert sync(exchange) == 1 and exchange.receive(a) == []
    copies = [exchange.receive(id)[0] for id in (b, c, late)]
    copies[0].content["n"].append(2)
    copies[0].metadata["seen"] = True
    assert copies[1].content == mail.content == {"n": [1]} and copies[1].metadata == {}
    for copied in copies:
        assert copied == mail and copied is not mail and copied.recipient is None
        assert (copied.created_at, copied.channel) == (mail.created_at, "all")
    shared = Stubborn()
    exchange.send(a, None, shared)
    sync(exchange)
    assert exchange.receive(b)[1].content is shared
    alone, (only,) = people(1)
    alone.send(only, None, 1)
    assert sync(alone) == 0


def test_a_recipient_that_registers_before_the_sync_gets_it() -> None:
    """LP-033"""
    exchange, (a, _, _) = people()
    late = uuid4()
    exchange.send(a, late, 1)
    exchange.register(late)
    assert sync(exchange) == 1 and contents(exchange.receive(late)) == [1]


def test_syncs_at_once_deliver_each_mail_once() -> None:
    """LP-035"""
    exchange, ids = people(10)
    for n in range(5000):
        exchange.send(ids[n % 10], ids[(n + 1) % 10], n)

    async def main() -> int:
        syncs = exchange.sync(), exchange.collect_all(), exchange.sync()
        return sum(await asyncio.gather(*syncs))

    assert asyncio.run(main()) == 5000 and sync(exchange) == 0
    for k, id in enumerate(ids):
        assert contents(exchange.receive(id)) == list(range((k - 1) % 10, 5000, 10))


def test_run_syncs_until_it_is_stopped() -> None:
    """LP-036"""

    async def main() -> None:
        exchange, (a, b, _) = people()
        exchange.stop()  # Is forgotten by run().
        exchange.send(a, b, 1)
        running = asyncio.create_task(exchange.run(interval=0.01))
        await asyncio.sleep(0)
        assert len(exchange.receive(b)) == 1  # The first sync is at once.
        exchange.send(a, b, 2)
        while len(exchange.receive(b)) < 2:
            await asyncio.sleep(0.001)
        exchange.send(a, b, 3)
        exchange.stop()
        exchange.send(a, b, 4)
        await running
        assert repr(exchange) == "Exchange(entities=3, pending_out=2)"

    asyncio.run(main())


def test_a_recipient_that_leaves_in_between_stops_no_other() -> None:
    """LP-037"""
    exchange, (a, b, c) = people()

    class Leaving:
        def __deepcopy__(self, memo: object) -> Leaving:
            exchange.unregister(b)
            return self

    exchange.send(a, None, Leaving())
    exchange.send(a, c, 1)
    assert sync(exchange) == 2 and len(exchange.receive(c)) == 2 and exchange.receive(b) == []


def test_an_interrupted_sync_loses_no_mail() -> None:
    """LP-037"""
    exchange, (a, b, c) = people()

    class Once:
        interrupted = False

        def __deepcopy__(self, memo: object) -> Once:
            if not Once.interrupted:
                Once.interrupted = True
                raise KeyboardInterrupt
            return self

    for content in (1, Once(), 2):
        exchange.send(a, b if isinstance(content, int) else None, content)
    with pytest.raises(KeyboardInterrupt):
        sync(exchange)
    assert repr(exchange) == "Exchange(entities=3, pending_out=2)"
    assert sync(exchange) == 2 and len(exchange.receive(b)) == 3 and len(exchange.receive(c)) == 1


def test_threads_and_loops_may_share_an_exchange() -> None:
    """LP-038, C-18"""
    exchange, ids = people(8)
    done = threading.Event()
    counts: list[int] = []

    def send(k: int) -> None:
        for n in range(2000):
            exchange.send(ids[k], ids[4 + n % 4], (k, n))
            exchange.send(ids[k], None, (k, n)) if n % 100 == 0 else None

    async def sync_all() -> int:
        count = 0
        while not done.is_set():
            count += await exchange.sync()
        return count + await exchange.sync()

    senders = [threading.Thread(target=send, args=(k,)) for k in range(4)]
    syncers = [
        threading.Thread(target=lambda: counts.append(asyncio.run(sync_all()))) for _ in range(2)
    ]
    for thread in (*senders, *syncers):
        thread.start()
    for thread in senders:
        thread.join()
    done.set()
    for thread in syncers:
        thread.join()
    assert sum(counts) == 4 * 2020
    for id in ids[4:]:
        direct = [mail for mail in exchange.receive(id) if mail.is_direct]
        assert max(Counter(contents(direct)).values()) == 1 and len(direct) == 2000
        for sender in ids[:4]:
            numbers = [m.content[1] for m in exchange.receive(id, sender) if m.is_direct]
            assert numbers == sorted(numbers)


def test_a_slow_collection_delays_no_other_sender() -> None:
    """LP-039"""
    exchange, (a, b, c) = people()
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def __deepcopy__(self, memo: object) -> Slow:
            begun.set()
            go_on.wait(60)
            return self

    exchange.send(a, c, 1)
    exchange.send(a, None, Slow())
    exchange.send(a, c, 2)
    slow = threading.Thread(target=lambda: asyncio.run(exchange.collect(a)))
    slow.start()
    begun.wait(60)
    exchange.send(c, b, "quick")
    assert asyncio.run(exchange.collect(c)) == 1 and contents(exchange.receive(b)) == ["quick"]
    go_on.set()
    slow.join()
    received = exchange.receive(c, a)
    assert received[0].content == 1 and received[2].content == 2


def test_a_content_of_100_mb_stays_one_object() -> None:
    exchange, (a, b, c) = people()
    content = "x" * 100_000_000
    exchange.send(a, b, content)
    exchange.send(a, None, content)
    assert sync(exchange) == 2
    assert all(mail.content is content for mail in exchange.receive(b) + exchange.receive(c))


def test_the_programs_of_the_document_run() -> None:
    """The two entities, the task that is handed over, and the loop in the background."""

    async def main() -> str:
        analyst, reviewer = uuid4(), uuid4()
        exchange = Exchange()
        exchange.register(analyst)
        exchange.register(reviewer)
        exchange.send(analyst, reviewer, content={"result": "done", "task": "review"})
        assert exchange.receive(reviewer) == []
        await exchange.sync()
        incoming = exchange.pop_mail(reviewer, sender=analyst)
        assert incoming is not None
        sync_task = asyncio.create_task(exchange.run(interval=0.01))
        try:
            exchange.send(reviewer, recipient=None, content="thanks")
            while not (mails := exchange.receive(analyst, sender=reviewer)):
                await asyncio.sleep(0.001)
            while mail := exchange.pop_mail(analyst, sender=reviewer):
                assert mail == mails[0]
        finally:
            exchange.stop()
            await sync_task
        return str(incoming.content["task"])

    assert asyncio.run(main()) == "review"
