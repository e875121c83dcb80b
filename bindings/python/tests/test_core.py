"""The extension: types, arguments, errors, facts."""

from __future__ import annotations

import array
import gc
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from beeline import _core
from beeline._errors import ClosedError, Full, NoAgent, TaskFailed, TooBig
from beeline._types import MessageId
from beeline.pytest_plugin import Hive
from core_ground import FOREVER, SECOND, TYPES, attach, pair, receive

CORE: Any = _core
Pair = tuple[Any, Any, Any]
TRACE = f"00-{'0af7651916cd43dd' * 2}-{'b7ad6b7169203331'}-01"


@pytest.fixture
def ab(hive: Hive) -> Iterator[Pair]:
    a, b, peer = pair()
    yield a, b, peer
    b._close(force=True)
    a._close(force=True)


def test_message_has_all_facts(ab: Pair) -> None:
    a, b, peer = ab
    id = a.send_nowait(
        peer, b"hello", type="task", channel="red", rank=0, ttl=1.5, trace=TRACE, hops=3, cause=77
    )
    m = receive(b)
    assert isinstance(id, MessageId) and m.id == id and str(m.id) == f"{a.pid}:{id & 0xFF}"
    assert (m.type, m.channel, m.rank, m.ttl, m.trace) == ("task", "red", 0, 1.5, TRACE)
    assert (m.cause, m.sender, m.sender_name, m.to) == (77, a.pid, "a", b.pid)
    assert (m.relation, m.via, m.attempts, m.full_length, len(m)) == (3, 1, 0, 5, 5)
    assert not (m.redelivered or m.is_copy or m.is_cut or m.is_control or m.requires_ack)
    assert m.hops == 3 and m.sent_ns > 0 and m.held and m and m.agent is b and not m.cancelled
    m.done()
    # After the end they stay readable.
    assert (m.type, m.sender_name, m.id, m.via, m.held, m.cancelled) == (
        "task", "a", id, 1, False, True,
    )


def test_words_of_two_messages_are_one_str(ab: Pair) -> None:
    a, b, peer = ab
    a.send_many(peer, [b"1", b"2"], type="a type")
    one, two = b.try_receive_batch(10)
    assert one.type is two.type and one.sender_name is two.sender_name
    b.done_all([one, two])


@pytest.mark.parametrize(
    "payload, bytes_of_it",
    [
        (b"x", b"x"),
        ("\u20ac", b"\xe2\x82\xac"),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"abc")[1:], b"bc"),
        (array.array("H", [1, 2]), b"\1\0\2\0"),
        (b"", b""),
        ("", b""),
        pytest.param(b"x" * 200_000, b"x" * 200_000, id="large"),
    ],
)
def test_payload_is_any_contiguous_buffer(ab: Pair, payload: Any, bytes_of_it: bytes) -> None:
    a, b, peer = ab
    a.send_nowait(peer, payload)
    m = receive(b)
    assert m.copy() == bytes(m) == bytes_of_it and m.payload == bytes_of_it
    assert m.payload.readonly
    m.done()


def test_payload_is_an_array_of_numpy(ab: Pair) -> None:
    numpy: Any = pytest.importorskip("numpy")
    a, b, peer = ab
    a.send_nowait(peer, numpy.arange(3, dtype=numpy.uint8))
    m = receive(b)
    assert numpy.frombuffer(m, dtype=numpy.uint8).tolist() == [0, 1, 2]
    m.done()
    with pytest.raises(BufferError, match="contiguous"):
        a.send_nowait(peer, numpy.ones((4, 4))[:, 1])


def test_payload_in_a_map_goes_too(ab: Pair) -> None:
    a, b, peer = ab
    with mmap.mmap(-1, 4096) as room:
        room[:3] = b"map"
        a.send_nowait(peer, room)
    m = receive(b)
    assert m.copy()[:4] == b"map\0"
    m.done()


class Evil:
    """Closes the agent while the arguments are read."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def __index__(self) -> int:
        self.agent._close(force=True)
        return 1


Refused = tuple[Callable[[Any, Any], object], type[Exception], str]
REFUSED: list[Refused] = [
    (lambda a, p: a.send_nowait(p, 7), TypeError, "buffer of contiguous bytes, not int"),
    (lambda a, p: a.send_nowait(p, None), TypeError, "not NoneType"),
    (lambda a, p: a.send_nowait(p, memoryview(b"abcd")[::2]), BufferError, "copy it first"),
    (lambda a, p: a.send_nowait(p, "\ud800"), UnicodeEncodeError, "surrogates"),
    (lambda a, p: a.send_nowait(p), TypeError, "needs 'payload'"),
    (lambda a, p: a.send_nowait(), TypeError, "needs 'to'"),
    (lambda a, p: a.send_nowait(p, b"", b""), TypeError, "at most 2"),
    (lambda a, p: a.send_nowait(p, b"", to=p), TypeError, "'to' twice"),
    (lambda a, p: a.send_nowait(p, b"", tpye=""), TypeError, "it has: to, payload, type"),
    (lambda a, p: a.send_nowait(1.5, b""), TypeError, "a Peer, a pid or the name"),
    (lambda a, p: a.send_nowait(-1, b""), ValueError, "from 0"),
    (lambda a, p: a.send_nowait(2**40, b""), ValueError, "from 0"),
    (lambda a, p: a.send_nowait("nobody", b""), NoAgent, "nobody"),
    (lambda a, p: a.send_nowait(999, b""), NoAgent, "999"),
    (lambda a, p: a.send_nowait(p, b"", type=3), TypeError, "type is a str, not int"),
    (lambda a, p: a.send_nowait(p, b"", type="x" * 32), Exception, "31"),
    (lambda a, p: a.send_nowait(p, b"", type="a\0b"), ValueError, "zero byte"),
    (lambda a, p: a.send_nowait(p, b"", ttl=0), ValueError, "more than 0"),
    (lambda a, p: a.send_nowait(p, b"", ttl=-1), ValueError, "at least 0"),
    (lambda a, p: a.send_nowait(p, b"", ttl=float("nan")), ValueError, "nan"),
    (lambda a, p: a.send_nowait(p, b"", ttl="1"), TypeError, "ttl is a number"),
    (lambda a, p: a.send_nowait(p, b"", rank=2**31), ValueError, "rank"),
    (lambda a, p: a.send_nowait(p, b"", hops=70_000), ValueError, "65535"),
    (lambda a, p: a.send_nowait(p, b"", trace="00-1-2-3"), ValueError, "traceparent"),
    (lambda a, p: a.send_nowait(p, b"", trace=TRACE.replace("b", "g")), ValueError, "base 16"),
    (lambda a, p: a.send_nowait(p, b"", about=a), TypeError, "a Message or None"),
    (lambda a, p: a.send_nowait(p, b"", cause=-1), ValueError, "64 bits"),
    (lambda a, p: a.send_nowait(p, mmap.mmap(-1, 2**33)), TooBig, ""),
    (lambda a, p: a.send_many(p, b"abc"), TypeError, "send_nowait"),
    (lambda a, p: a.send_many(p, 7), TypeError, "iterable"),
    (lambda a, p: a.send_many(p, [7]), TypeError, "not int"),
    (lambda a, p: a.done_all([7]), TypeError, "takes messages"),
    (lambda a, p: a.try_receive_batch(0), ValueError, "from 1"),
    (lambda a, p: a._wait("1"), TypeError, "whole number"),
    (lambda a, p: a._wait(-1), ValueError, "from 0"),
    (lambda a, p: a.borrow(p, -1), ValueError, "from 0"),
    (lambda a, p: a.send_threadsafe("b", b""), TypeError, "find_peer"),
    (lambda a, p: a.execute_start(p, 0, params=[1]), TypeError, "mapping of str to str"),
    (lambda a, p: a.execute_start(p, 0, params={"a": 1}), TypeError, "has int in it"),
    (lambda a, p: a.find_peer_start(1.0, 0), TypeError, "to is a str"),
    (lambda a, p: a.poll(1), TypeError, "at most 0"),
    (lambda a, p: a.requeue_dead(5), Exception, ""),
    (lambda a, p: type(a)(), TypeError, "create"),
    (lambda a, p: type(p)(), TypeError, "create"),
    (lambda a, p: object.__new__(type(a)), TypeError, ""),
    (lambda a, p: attach(order="odd"), ValueError, "'aged', 'strict' and 'fifo'"),
    (lambda a, p: attach(nmae="x"), TypeError, "'nmae'"),
    (lambda a, p: CORE.Attaching(1), TypeError, "by name only"),
    (lambda a, p: CORE.attach(int, int, int, int), TypeError, "agent_type"),
]


def test_wrong_argument_is_refused_in_words(ab: Pair) -> None:
    a, b, peer = ab
    for number, (call, error, words) in enumerate(REFUSED):
        with pytest.raises(error) as raised:
            call(a, peer)
        assert words in str(raised.value), number
    assert b.try_receive() is None


def test_agent_may_close_while_arguments_are_read(hive: Hive) -> None:
    uses: list[Callable[[Any, Any], object]] = [
        lambda a, p: a.send_nowait(p, b"", rank=Evil(a)),
        lambda a, p: a.try_receive(sender=Evil(a)),
        lambda a, p: a.borrow(p, Evil(a)),
        lambda a, p: a._wait_request(Evil(a), p, b""),
    ]
    for use in uses:
        a = attach("a")
        peer = a.find_peer("a")
        with pytest.raises(ClosedError, match="attach again"):
            use(a, peer)


def test_receiver_is_a_peer_a_pid_or_a_name(ab: Pair) -> None:
    a, b, peer = ab
    for to in (peer, b.pid, "b", str(b.pid), b.pid):
        a.send_nowait(to, b"x")
    assert len(b.try_receive_batch(10)) == 5
    assert peer == a.find_peer("b") and hash(peer) == hash(a.find_peer(b.pid))
    assert peer != a.find_peer("a") and peer.pid == b.pid and str(b.pid) in repr(peer)


def test_filter_selects(ab: Pair) -> None:
    a, b, peer = ab
    for i in range(10):
        a.send_nowait(peer, str(i), type=f"t{i % 2}", channel="c" * (i % 3))
    m = receive(b, type="t1", channel="cc")
    assert m.text == "5"
    assert b.try_receive(type="t2") is None and b.try_receive(sender=b.pid) is None
    zeros = b.try_receive_batch(10, type="t0")
    assert len(zeros) == 5
    assert len(b.try_receive_batch(10, type="", channel="")) == 4


def test_ended_message_is_refused(ab: Pair) -> None:
    a, b, peer = ab
    a.send_nowait(peer, b"x")
    m = receive(b)
    m.done()
    uses: list[Callable[[], object]] = [
        m.done, m.requeue, m.put_back, m.reject, m.defer, m.escalate, m.copy,
        lambda: m.text, lambda: len(m), lambda: m.reply_nowait(b""),
        lambda: m._wait_reply(0, b""), lambda: a.send_nowait(peer, b"", about=m),
    ]  # fmt: skip
    for use in uses[:-1]:
        with pytest.raises(ClosedError, match="has ended"):
            use()
    with pytest.raises(ValueError, match="another agent"):
        uses[-1]()
    views: list[Callable[[], object]] = [lambda: memoryview(m), lambda: m.payload]
    for view in views:
        with pytest.raises(BufferError, match="has ended"):
            view()


def test_views_hold_the_lease(ab: Pair) -> None:
    a, b, peer = ab
    a.send_nowait(peer, b"abc")
    m = receive(b)
    one, two = m.payload, memoryview(m)
    assert (b.views(), a.views()) == (2, 0) and two.readonly
    ends: list[Callable[[], object]] = [m.done, m.requeue, m.put_back, m.reject, m.escalate]
    ends.append(lambda: b.done_all([m]))
    for end in ends:
        with pytest.raises(BufferError, match="2 views of this message still live"):
            end()
    with pytest.raises(BufferError, match="2 views of this agent"):
        b._close()
    one.release()
    with pytest.raises(BufferError, match="1 view of this message still lives"):
        m.done()
    two.release()
    m.done()
    assert b.views() == 0


def test_view_outlives_a_forced_close(ab: Pair) -> None:
    a, b, peer = ab
    a.send_nowait(peer, b"x" * 100_000)
    m = receive(b)
    view = m.payload
    b._close(force=True)
    assert b.closed and not m.held and view[99_999] == ord("x") and b.views() == 1
    with pytest.raises(ClosedError):
        m.done()
    with pytest.raises(BufferError):
        memoryview(m)
    del m, b
    gc.collect()
    assert bytes(view) == b"x" * 100_000
    view.release()


def test_loan_is_written_in_place(ab: Pair) -> None:
    a, b, peer = ab
    loan = a.borrow(peer, 1 << 20)
    numbers = memoryview(loan).cast("I")
    numbers[1023] = 1023
    for end in (loan.send_nowait, loan.release, lambda: loan.shrink(5), a._close):
        with pytest.raises(BufferError, match="1 view"):
            end()
    numbers.release()
    loan.shrink(4096)
    assert len(loan) == 4096 and loan.held and loan.peer == peer and loan.agent is a
    loan.send_nowait(type="array")
    m = receive(b)
    got = memoryview(m).cast("I")
    assert len(got) == 1024 and got[1023] == 1023 and m.type == "array"
    got.release()
    m.done()
    uses: list[Callable[[], object]] = [
        loan.send_nowait, lambda: loan.shrink(1), lambda: len(loan), lambda: loan._wait_send(0)
    ]
    for use in uses:
        with pytest.raises(ClosedError, match="Borrow another"):
            use()
    with pytest.raises(BufferError):
        memoryview(loan)
    loan.release()
    assert not loan.held


def test_dropped_loan_goes_back(ab: Pair) -> None:
    a, b, peer = ab
    for _ in range(3000):
        a.borrow(peer, 100_000)
    with pytest.raises(TooBig):
        a.borrow(peer, 2**40)


def test_requests_answer_by_id(ab: Pair) -> None:
    a, b, peer = ab
    ids = [a.request_start(peer, str(i), 10 * SECOND) for i in range(3)]
    for m in reversed(b.try_receive_batch(10)):
        m.reply_nowait(m.text * 2)
        m.done()
    assert a._wait(10 * SECOND).answers >= 1
    answers: dict[int, str] = {}
    while (answer := a.next_answer()) is not None:
        assert isinstance(answer[1], _core.Message)
        answers[answer[0]] = answer[1].text
        a.poll()
    assert answers == dict(zip(ids, ("00", "11", "22")))
    lost = a.request_start(peer, b"", 1000)
    assert a._wait(10 * SECOND).answers == 1
    answer = a.next_answer()
    assert answer is not None and answer[0] == lost and isinstance(answer[1], TimeoutError)
    assert not a.forget(lost) and a.forget(a.request_start(peer, b"", 10 * SECOND))


def test_acknowledgements_come(ab: Pair) -> None:
    a, b, peer = ab
    id = a.send_nowait(peer, b"", requires_ack=True)
    assert a.take_ack(peer, id) is None and a._wait_ack(1000, peer, id) is None
    receive(b).done("yes")
    assert a._wait_ack(10 * SECOND, peer, id) == (id, 0, b"yes", False)
    id = a.ack_start(peer, b"", 10 * SECOND)
    receive(b).reject("no")
    a._wait(10 * SECOND)
    assert a.next_ack() == (id, 2, b"no", False) and a.next_ack() is None
    with pytest.raises(TimeoutError):
        a._wait_send_acked(1000, peer, b"")


def test_full_lane_raises_and_counts(ab: Pair) -> None:
    a, b, peer = ab
    sent = a.send_many(peer, [b"x"] * 10_000)
    assert 100 < sent < 10_000 and a.send_many(peer, [b"x"]) == 0
    with pytest.raises(Full):
        a.send_nowait(peer, b"x")
    with pytest.raises(Full):
        a._send(peer, b"x", timeout=1e-6)
    a.want_space(peer, True)
    b.done_all(b.try_receive_batch(10))
    assert a._wait(10 * SECOND).spaces == 1 and a.next_space() == peer and a.next_space() is None
    a._send(peer, b"x", timeout=10)


def test_lists_are_dicts(ab: Pair) -> None:
    a, b, peer = ab
    a.send_nowait(peer, b"preview", type="t")
    (item,) = b.inbox_nowait()
    assert (item["sender"], item["preview"], item["type"]) == (a.pid, b"preview", "t")
    seen = _core.look_into_inbox("b")
    assert seen["pid"] == b.pid and seen["length"] == 1 and seen["items"][0]["id"] == item["id"]
    assert [info["name"] for info in a._siblings()] == ["b"] and a._children(True) == []
    assert a._info()["pid"] == a._find("a")["pid"] == a.pid and a._links()[0]["peer"] == b.pid
    assert b._counters()["queued"] == 1 and a.next_notice() is None and not a.urgent()
    call = a.list_start()
    while (found := a.next_list()) is None:
        a._wait(10 * SECOND)
    assert found[0] == call and isinstance(found[1], list) and len(found[1]) == 3
    call = a.find_peer_start(b.pid, 0)
    while (got := a.next_peer()) is None:
        a._wait(10 * SECOND)
    assert got == (call, peer) and not a.forget_call(call)
    id = item["id"]
    receive(b).reject("bad")
    b.requeue_dead(id)
    receive(b).reject("bad")
    assert (b.purge_dead(id), b.purge_dead(id), b.purge_dead()) == (1, 0, 0)


def test_ids_have_a_text(hive: Hive) -> None:
    assert _core.id_text(0) == "" and _core.parse_id("junk") == 0
    assert _core.parse_id(_core.id_text(12345678901234)) == 12345678901234


def test_task_goes_to_a_child_and_back(hive: Hive) -> None:
    parent = attach("p")
    child = attach("c", parent="p")
    child.accept_tasks(True)
    work = {"description": "d", "context": b"\0\xff", "params": {"k": "v", "\udcff": ""}}
    more = {"id": "T1", "timeout": 3, "priority": 1, **work}
    task = parent.execute_start("c", 10 * SECOND, **more)
    run = child._wait_task(10 * SECOND)
    assert run is not None and run.id == "T1" and run.message_id == task
    assert run.parent == parent.pid
    assert {"description": run.description, "context": run.context, "params": run.params} == work
    assert (run.timeout, run.priority, run.held, run.cancelled, run.agent) == (
        3.0, 1, True, False, child,
    )
    run.update("half")
    run.log("a line")
    run.finish(3, "out", {"a": "b"}, {})
    events = [parent._wait_task_event(10 * SECOND) for _ in range(3)]
    result = {"exit_code": 3, "output": b"out", "artifacts": {"a": "b"}, "metadata": {}}
    assert events == [(task, 0, "half"), (task, 1, "a line"), (task, 2, result)]
    assert run.cancelled and not run.held and run.id == "T1"
    for use in (run.finish, lambda: run.fail(""), lambda: run.update("")):
        with pytest.raises(ClosedError):
            use()
    parent.execute_start("c", 10 * SECOND)
    second = child._wait_task(10 * SECOND)
    assert second is not None
    second.fail("broken")
    event = parent._wait_task_event(10 * SECOND)
    assert event is not None and isinstance(event[2], TaskFailed) and "broken" in str(event[2])
    child._close()
    parent._close()
    with pytest.raises(ClosedError):
        _ = run.id


def test_attaching_gives_one_agent(hive: Hive) -> None:
    attaching: Any = _core.Attaching(name="a")
    assert attaching.fileno() >= 0
    agent = attaching.finish(*TYPES)
    assert agent.name == "a" and agent.incarnation >= 1 and agent.parent == 1
    for use in (attaching.fileno, lambda: attaching.finish(*TYPES)):
        with pytest.raises(ClosedError, match="one agent"):
            use()
    agent._wait_detach(FOREVER)
    agent._close()
    agent._close()
    assert agent.closed and agent.name == "a"
    _core.Attaching(name="dropped")
