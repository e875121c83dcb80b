"""beeline.hive: messages, answers, acknowledgements, relations."""

from __future__ import annotations

import asyncio
import json
import time
import uuid

import pytest
from beeline.hive import CoreClient, HiveAgent, Message, MessageAck, SyscallContext
from beeline.pytest_plugin import Hive
from hive_cast import Echo, Judge, Probe
from hive_ground import TESTS, Ground, scene, until


def test_on_message_finds_the_way_of_each_message() -> None:
    """HK-060"""

    async def play() -> None:
        agent = Probe()
        waiter = agent._pending_requests["r"] = asyncio.get_running_loop().create_future()
        answer = Message(type="any", reply_to="r")
        assert await agent.on_message(answer) == MessageAck()
        assert waiter.result() is answer and not agent._pending_requests
        stashed = Message(type="task_response", reply_to="unknown")
        await agent.on_message(stashed)
        assert agent.got == [] and agent.drain_pending_results() == [stashed]
        full = b'{"description": "d", "task": "t"}'
        for payload in (b'{"description": "d"}', full, b"{", b"[" * 9999):
            await agent.on_message(Message(type="cron_task", payload=payload))
        await agent.on_message(Message(type="task_response"))  # answers nothing
        both, kept, *others = [each.payload for each in agent.got]
        assert json.loads(both) == {"description": "d", "task": "d"}
        assert json.loads(kept)["task"] == "t" and others == [b"{", b"[" * 9999, b""]

    asyncio.run(play())


@scene
async def test_an_agent_accepts_messages_and_does_no_tasks_by_default(ground: Ground) -> None:
    """HK-061, HK-053: the sender sees each status, and rejected and escalated mail goes its way."""
    boss = await ground.run(Probe(), "boss")
    plain = await ground.run(HiveAgent(), "plain", "boss")
    judge = await ground.run(Judge(), "judge", "boss")
    with pytest.raises(RuntimeError, match="execute_task failed: task failed: HiveAgent does no"):
        await boss.core.execute_task(plain.pid, "anything")
    core = boss.core
    id = await core.send_message(plain.pid, requires_ack=True)
    assert await core.acknowledgement(plain.pid, id) == MessageAck(id, 0, "")
    for status in (MessageAck.ACK_ACCEPTED, MessageAck.ACK_REJECTED, MessageAck.ACK_ESCALATE):
        payload = str(status).encode()
        id = await core.send_message(judge.pid, payload=payload, requires_ack=True)
        word = await core.acknowledgement(judge.pid, id)
        reply = "" if status == MessageAck.ACK_ESCALATE else "the judge has spoken"
        assert word == MessageAck(id, status, reply)
    escalated = await boss.next()
    assert (escalated.type, escalated.payload, escalated.priority) == ("escalation", b"3", "high")
    (letter,) = json.loads(ground.hive.beeline("dlq", "ls", "judge", "--json").stdout)
    assert letter["reason"] == "rejected"
    with pytest.raises(RuntimeError, match="no reply from PID .*dead letter: the judge"):
        await boss.send_and_wait_core(judge.pid, "t", b"2", timeout=30)


@scene
async def test_two_waits_get_their_own_answers_in_any_order(ground: Ground) -> None:
    """HK-062, HK-065, HK-066"""
    echo = await ground.start("hive_cast:Echo", "echo", "", TESTS)
    asker = await ground.run(Probe(), "asker")
    ctx = SyscallContext("t", core=asker.core)
    slow = asyncio.create_task(asker.send_and_wait(ctx, echo.pid, "plain:0.3", b"slow"))
    await asyncio.sleep(0.05)
    quick = await asker.send_and_wait_core(echo.pid, "plain", b"quick")
    assert quick.payload == b"quick" and not slow.done()
    other = await ground.run(Probe(), "other")
    await other.core.send_message(asker.pid, type="meanwhile", payload=b"handled")
    assert (await asker.next()).payload == b"handled" and not slow.done()
    answer = await slow
    assert (answer.payload, answer.from_name, answer.type) == (b"slow", "echo", "notification")
    assert not asker._pending_requests


class Asker(Probe):
    """Asks another agent while it handles a message, one at a time."""

    concurrency = 1

    async def handle_message(self, message: Message) -> MessageAck:
        pid = int(message.payload)
        answer = await self.send_and_wait_core(pid, "by-request-id", b"inside", timeout=30)
        return MessageAck(reply=answer.payload.decode())


@scene
async def test_a_handler_may_wait_for_an_answer(ground: Ground) -> None:
    """HK-066"""
    echo = await ground.run(Echo(), "echo")
    asker = await ground.run(Asker(), "asker")
    probe = await ground.run(Probe(), "probe")
    payload = str(echo.pid).encode()
    answers = await asyncio.gather(
        *(probe.send_and_wait_core(asker.pid, "ask", payload) for _ in range(3))
    )
    assert [each.payload for each in answers] == [b"inside"] * 3
    with pytest.raises(RuntimeError, match="CoreClient not connected"):
        await Probe().send_and_wait_core(2, "t", b"")
    await Probe().reply_to(Message(from_pid=2), b"goes nowhere")


@scene
async def test_a_late_answer_is_not_lost(ground: Ground) -> None:
    """HK-063, HK-064"""
    echo = await ground.run(Echo(), "echo")
    asker = await ground.run(Probe(), "asker")
    began = time.monotonic()
    for way in ("by-message-id:0.4", "by-request-id:0.4", "plain:0.4"):
        with pytest.raises(TimeoutError) as error:
            await asker.send_and_wait_core(echo.pid, way, b"late", timeout=0.1)
        assert f"No reply from PID {echo.pid} within 0.1s (request_id=" in str(error.value)
    assert time.monotonic() - began < 5 and not asker._pending_requests
    assert (await asker.next()).payload == b"late"  # no task_response
    late: list[Message] = []

    async def have_come() -> bool:
        late.extend(asker.drain_pending_results())
        return len(late) == 2

    await until(have_come)
    assert [each.payload for each in late] == [b"late"] * 2
    with pytest.raises(RuntimeError, match="send failed: receiver PID 4711 not found"):
        await asker.send_and_wait_core(4711, "t", b"", timeout=30)
    with pytest.raises(RuntimeError, match="send failed: .*104857600"):
        await asker.send_and_wait_core(echo.pid, "t", bytes(100 << 20), timeout=30)
    assert not asker._pending_requests


@pytest.mark.parametrize("way", ["by-message-id", "by-request-id", "by-message-id:0.1"])
def test_both_ways_of_answering_resolve_a_request(way: str, hive: Hive) -> None:
    """C-09, HK-067, HK-068, HK-069: {request_id, message_id} x {wait, fire and forget}"""

    async def play(ground: Ground) -> None:
        echo = await ground.run(Echo(), "echo")
        asker = await ground.run(Probe(), "asker")
        ctx = SyscallContext("t", core=asker.core)
        assert (await asker.send_and_wait(ctx, echo.pid, way, b"w")).payload == b"w"
        sent = [await asker.send_fire_and_forget(ctx, echo.pid, way, b"%d" % i) for i in (0, 1)]
        assert all(str(uuid.UUID(each)) == each for each in sent)
        found: list[Message] = []

        async def have_come() -> bool:
            found.extend(asker.drain_pending_results())
            return len(found) == 2

        await until(have_come)
        assert [(each.reply_to, each.payload) for each in found] == list(zip(sent, (b"0", b"1")))
        assert asker.drain_pending_results() == [] and asker.got == []

    scene(play)(hive)


@scene
async def test_the_receiver_sees_the_words_of_the_sender(ground: Ground) -> None:
    """HK-067, C-09, C-38: ids, texts of the sender's own, relations, priorities"""
    boss = await ground.run(Probe(), "boss")
    child = await ground.run(Probe(), "child", "boss")
    sibling = await ground.run(Probe(), "sibling", "boss")
    cousin = await ground.run(Probe(), "cousin", "sibling")
    ctx = SyscallContext("t", core=sibling.core)
    sent = await sibling.send_fire_and_forget(ctx, child.pid, "t", b"x")
    assert (await child.next()).reply_to == sent
    id = await sibling.core.send_message(child.pid, payload=b"\0\n", reply_to="my own words")
    got = await child.next()
    assert (got.message_id, got.reply_to, got.payload) == (id, "my own words", b"\0\n")
    assert abs(got.timestamp - time.time() * 1000) < 60_000 and got.from_name == "sibling"
    for answer in ("my own words", got.message_id):
        await child.core.send_message(sibling.pid, type="a", payload=b"y", reply_to=answer)
        back = await sibling.next()
        assert (back.reply_to, back.payload) == ("my own words", b"y")
    id = await child.core.send_message(sibling.pid, reply_to=got.message_id)  # not in hand
    assert (await sibling.next()).message_id == id
    await sibling.core.send_message(child.pid, reply_to=id)
    assert (await child.next()).reply_to == id  # and not the message that it had answered
    relations = {}
    for sender in (boss, sibling, cousin):
        await sender.core.send_message(child.pid, priority="no such word")
        message = await child.next()
        relations[message.relation] = message.priority
    await child.core.send_message(boss.pid, priority="low")
    message = await boss.next()
    relations[message.relation] = message.priority
    assert relations == {"parent": "high", "sibling": "normal", "other": "normal", "child": "low"}


@scene
async def test_a_message_that_was_kept_ends_with_its_answer(ground: Ground) -> None:
    """HK-053, C-09: ACK_QUEUED by every way of answering; the inbox empties"""
    keeper = await ground.run(Keeper(), "keeper")
    asker = await ground.run(Probe(), "asker")
    for way in ("message_id", "reply_to", "early"):
        reply = await asker.send_and_wait_core(keeper.pid, way, b"k", timeout=30)
        assert reply.payload == b"k"
    id = await asker.core.send_message(keeper.pid, type="done", requires_ack=True)
    assert (await asker.core.acknowledgement(keeper.pid, id)).status == MessageAck.ACK_QUEUED

    async def is_empty() -> bool:
        assert keeper._agent is not None and keeper._post is not None
        counts = keeper._agent.counters()
        return counts.leased == counts.queued == 0 and not keeper._post._held

    await until(is_empty)


@scene
async def test_no_request_is_lost_with_its_receiver(ground: Ground) -> None:
    """HK-062: `kill -9` with hundreds of requests in lanes, in the inbox and in hand"""
    asker = await ground.run(Probe(), "asker")
    echo = await ground.start("hive_cast:Echo", "echo", "", TESTS)
    for _ in range(2):
        asks = [
            asyncio.create_task(
                asker.send_and_wait_core(echo.pid, "by-message-id:0.05", b"%d" % i)
            )
            for i in range(400)
        ]
        await asyncio.sleep(0.1)
        await echo.kill()
        echo = await ground.start("hive_cast:Echo", "echo", "", TESTS)
        answers = await asyncio.gather(*asks)
        assert [int(each.payload) for each in answers] == list(range(400))


class Keeper(HiveAgent):
    """Keeps each message, and answers it in the background as its type says."""

    async def handle_message(self, message: Message) -> MessageAck:
        if message.type == "early":
            await self.reply_to(message, message.payload)
        else:
            self._work = asyncio.create_task(self._answer(message))
        return MessageAck(status=MessageAck.ACK_QUEUED)

    async def _answer(self, message: Message) -> None:
        await asyncio.sleep(0.05)
        if message.type == "done":
            assert self.done(message) and not self.done(message)
            return
        await self.core.send_message(
            message.from_pid,
            payload=message.payload,
            reply_to=getattr(message, message.type),
        )


class Holder(Probe):
    """Keeps what comes, and does nothing with it."""

    async def handle_message(self, message: Message) -> MessageAck:
        await super().handle_message(message)
        return MessageAck(status=MessageAck.ACK_QUEUED)


@scene
async def test_an_orderly_end_costs_a_kept_message_no_attempt(ground: Ground) -> None:
    """HK-053: it comes again as often as its agent is started"""
    asker = await ground.run(Probe(), "asker")
    holder = await ground.run(Holder(), "holder")
    waiting = asyncio.create_task(asker.send_and_wait_core(holder.pid, "t", b"", timeout=30))
    for _ in range(5):
        message = await holder.next()
        await ground.stop(holder)
        holder = await ground.run(Holder(), "holder")
    assert (await holder.next()).message_id == message.message_id
    await holder.reply_to(message, b"at last")
    assert (await waiting).payload == b"at last"


@scene
async def test_a_request_that_was_handed_on_ends_with_the_answer_of_another(ground: Ground) -> None:
    """HK-062, C-09: at once, although the receiver keeps the request; its own answer is late"""
    asker = await ground.run(Probe(), "asker")
    holder = await ground.run(Holder(), "holder")
    other = await ground.run(Probe(), "other")
    waiting = asyncio.create_task(asker.send_and_wait_core(holder.pid, "t", b"", timeout=30))
    message = await holder.next()
    await other.core.send_message(asker.pid, payload=b"for it", reply_to=message.reply_to)
    answer = await asyncio.wait_for(waiting, 10)
    assert (answer.payload, answer.from_name) == (b"for it", "other")
    await holder.reply_to(message, b"mine", type="note")
    assert (await asker.next()).payload == b"mine" and not asker._pending_requests
    waiting = asyncio.create_task(asker.send_and_wait_core(holder.pid, "t", b"", timeout=30))
    message = await holder.next()
    await asyncio.gather(
        other.core.send_message(asker.pid, payload=b"for it", reply_to=message.reply_to),
        holder.reply_to(message, b"mine", type="note"),
    )
    both = {(await waiting).payload, (await asker.next()).payload}
    assert both == {b"for it", b"mine"}


def test_a_client_without_an_agent_says_so() -> None:
    """HK-073"""
    with pytest.raises(RuntimeError, match="send failed: CoreClient not connected"):
        asyncio.run(CoreClient(pid=7).send_message(2))
