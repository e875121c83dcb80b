"""beeline.sync: the same names, and the calls wait."""

from __future__ import annotations

import inspect
import os
import threading
from typing import Any

import pytest

import beeline
import beeline.aio
import beeline.sync
from beeline._base import work_of
from beeline._types import FOREVER
from beeline.pytest_plugin import AgentFactory, Hive


def in_thread(work: Any, *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def test_both_faces_have_the_same_names() -> None:
    def names(kind: type) -> set[str]:
        return {n for n in dir(kind) if not n.startswith("_")}

    only_async = {"aclose", "ask", "result"}
    assert names(beeline.aio.Agent) - only_async == names(beeline.sync.Agent) - {"close"}
    for name in ("Message", "Loan", "TaskRun"):
        assert names(getattr(beeline.aio, name)) == names(getattr(beeline.sync, name))
    for kind in (beeline.aio.Agent, beeline.sync.Agent):
        for name in sorted(names(kind)):
            assert getattr(kind, name).__doc__, name


def test_everything_public_has_a_docstring() -> None:
    for name in beeline.__all__:
        found = getattr(beeline, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            assert found.__doc__, name


def test_send_and_receive(agent: AgentFactory) -> None:
    a, b = agent("a"), agent("b")
    id = a.send("b", "one", type="t", channel="c")
    with b.receive(type="t") as m:
        assert (m.id, m.text, m.type, m.channel, m.sender_name) == (id, "one", "t", "c", "a")
        assert beeline.current_message() is m
        m.reply("two")
    assert beeline.current_message() is None
    with a.receive(timeout=60, reply_to=id) as m:
        assert m.text == "two" and m.cause == id
    with pytest.raises(TimeoutError):
        a.receive(timeout=0.01)
    assert a.try_receive() is None


def test_what_is_sent_meanwhile_inherits(agent: AgentFactory) -> None:
    a, b = agent("a"), agent("b")
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    a.send("b", "1", trace=trace)
    with b.receive() as m:
        b.send("a", "2")
    with a.receive() as second:
        assert (second.cause, second.trace, second.hops) == (m.id, trace, 1)
    b.send("a", "3")
    with a.receive() as third:
        assert (third.cause, third.trace, third.hops) == (0, "", 0)


def test_requests_and_acknowledgements(agent: AgentFactory) -> None:
    a, b = agent("a"), agent("b")
    answers: list[str] = []

    def ask() -> None:
        with beeline.sync.attach("c") as c:
            with c.request("a", "question") as answer:
                answers.append(answer.text)
            answers.append(c.send_acked("a", "order").text)
            answers.append(c.ack("a", c.send("a", "x", requires_ack=True)).status.name)
            c.send("a", "end")

    def handle(m: beeline.sync.Message) -> str:
        if m.text == "end":
            a.stop_serving()
        return m.text.upper()

    thread = in_thread(ask)
    assert a.serve(handle) == 4
    thread.join()
    assert answers == ["QUESTION", "ORDER", "ACCEPTED"]
    with pytest.raises(TimeoutError):
        b.request("a", "nobody serves", timeout=0.01)
    with pytest.raises(TimeoutError):
        b.ack("a", b.send("a", "y"), timeout=0.01)


def test_waits_for_room(agent: AgentFactory) -> None:
    a, b = agent("a", normal_slots=8), agent("b", inbox_capacity=16)
    texts = [str(i) for i in range(300)]
    with pytest.raises(beeline.Full):
        for text in texts:
            a.send("b", text)
    with pytest.raises(beeline.Full):
        a.send("b", "late", timeout=0.01)
    with pytest.raises(beeline.Full):
        while True:
            a.loan("b", 1 << 20).send()
    b.purge_dead()
    while (m := b.try_receive()) is not None:
        m.done()
    received: list[str] = []

    def take() -> None:
        with beeline.sync.attach("c", inbox_capacity=16) as c:
            ready.set()
            for m in c.messages(batch=8):
                with m:
                    received.append(m.text)
                    if len(received) == 300:
                        break

    ready = threading.Event()
    thread = in_thread(take)
    ready.wait()
    assert a.send_many("c", texts, timeout=60) == 300
    thread.join()
    assert received == texts


def test_send_many_says_how_many_were_sent(agent: AgentFactory) -> None:
    a, b = agent("a", normal_slots=8), agent("b", inbox_capacity=16)
    wrong: Any = ["x", 5, "y"]
    assert a.send_many("b", wrong, timeout=0.01) == 1
    with pytest.raises(TypeError):
        a.send_many("b", wrong[1:])
    assert 0 < a.send_many("b", ["x"] * 200) < 200
    assert a.send_many("b", ["x"]) == a.send_many("b", ["x"], timeout=0.01) == 0
    with pytest.raises(beeline.NoAgent):
        a.send_many("nobody", ["x"])
    b.close()


def test_loans_broadcasts_and_results(agent: AgentFactory) -> None:
    a, b = agent("a"), agent("b")
    with a.loan("b", 4096) as loan:
        with loan.payload as view:
            view[:2] = b"hi"
        loan.shrink(2)
        loan.send(timeout=60)
    with b.receive() as m:
        assert m.text == "hi"
    (delivery,) = a.broadcast("all", "news")
    assert delivery and delivery.name == "b"
    (m,) = b.try_receive_batch(5)
    b.done_all([m])
    id = a.fire_and_forget("b", "q")
    with b.receive() as m:
        m.reply("answer", timeout=60)
    a.try_receive()
    (result,) = a.results()
    with result:
        assert result.reply_to == id
    b.control("a", "steer")
    a.cancel("b", a.send("b", "wrong"))
    assert b.try_receive() is None and b.purge_dead() == 1
    (a.receive()).done()


def test_the_tree(agent: AgentFactory) -> None:
    boss, left, right = agent("boss"), agent("left", parent="boss"), agent("right", parent="boss")
    assert [info.name for info in boss.children()] == ["left", "right"]
    assert left.siblings() == [boss.find("right")] == [right.info()]
    assert boss.wait_for("left", timeout=60).pid == boss.peer("left").pid == left.pid
    with pytest.raises(beeline.NoAgent):
        boss.wait_for("nobody", timeout=0.01)
    left.close()
    assert boss.find("left").state is beeline.State.ZOMBIE
    (notice,) = boss.notices()
    assert (notice.kind, notice.name) == (beeline.NoticeKind.CHILD_AWAY, "left")


def test_tasks(agent: AgentFactory) -> None:
    boss = agent("boss")

    def work() -> None:
        with beeline.sync.attach("left", parent="boss") as left:
            for run in left.tasks():
                with run:
                    run.update("half")
                    run.finish(output=run.description.upper())
                if run.description == "last":
                    break

    def serve() -> None:
        def do(run: beeline.sync.TaskRun) -> str:
            right.stop_serving()
            raise ValueError("cannot")

        with beeline.sync.attach("right", parent="boss") as right:
            right.serve(print, tasks=do)

    threads = [in_thread(work), in_thread(serve)]
    for name in ("left", "right"):
        boss.wait_for(name, timeout=60)
    told: list[str] = []
    first = None
    while first is None:
        try:
            first = boss.execute("left", "first", progress=lambda p: told.append(p.text))
        except beeline.Rejected:
            pass  # it does not take tasks yet
    assert (first.text, told) == ("FIRST", ["half"])
    results: list[Any] = []
    while not results or isinstance(results[1], beeline.Rejected):
        results = boss.execute_all([("left", "x"), ("right", "y"), ("nobody", "z")])
    assert results[0].text == "X"
    assert isinstance(results[1], beeline.TaskFailed) and "cannot" in str(results[1])
    assert isinstance(results[2], beeline.NoAgent)
    assert boss.execute("left", "last").exit_code == 0
    for thread in threads:
        thread.join()


def give(boss: beeline.sync.Agent, child: beeline.sync.Agent) -> beeline.BeelineError | None:
    """Gives the child a task; the error if it refuses, None once the task waits."""
    count = child.poll().tasks
    id = boss.execute_start(child.pid, FOREVER, **work_of("x"))
    for _ in range(100):
        if child._wait(1_000_000).tasks > count:
            return None
        event = boss._wait_task_event(1_000_000)
        if event is not None and event[0] == id:
            assert isinstance(event[2], beeline.Rejected)
            return event[2]
    raise AssertionError("the task has gone nowhere")


def test_tasks_that_serve_does_not_take(
    agent: AgentFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss, b = agent("boss"), agent("b", parent="boss")
    b.accept_tasks(True)
    assert not give(boss, b) and not give(boss, b)
    serve_once = b._serve_once
    turns: list[int] = []

    def counted(*arguments: Any) -> int:
        turns.append(serve_once(*arguments))
        return turns[-1]

    monkeypatch.setattr(b, "_serve_once", counted)
    assert b.serve(print, timeout=0.1) == 0 and len(turns) < 20
    assert give(boss, b)
    tasks = b.tasks()
    next(tasks).finish()
    b.serve(print, timeout=0.01)
    next(tasks).finish()
    assert not give(boss, b)
    next(tasks).finish()


def test_serve_ends_well_when_its_start_fails(agent: AgentFactory) -> None:
    ends: list[str] = []

    class Handler(beeline.Handler):
        def on_start(self, agent: beeline.sync.Agent) -> None:
            raise ZeroDivisionError

        def on_task(self, run: beeline.sync.TaskRun) -> None:
            ends.append("task")

        def on_stop(self, reason: str) -> None:
            ends.append(reason)

    boss, b = agent("boss"), agent("b", parent="boss")
    with pytest.raises(ZeroDivisionError):
        b.serve(Handler())
    assert ends == ["failed"] and give(boss, b)


def test_iteration_and_serve_end_with_the_hive(agent: AgentFactory, hive: Hive) -> None:
    a = agent("a")
    threads = []
    ends: list[Any] = []

    def iterate() -> None:
        with beeline.sync.attach("b") as b:
            b.send("a", "ready")
            ends.append(list(b))

    def serve() -> None:
        class Handler(beeline.Handler):
            def on_start(self, agent: beeline.sync.Agent) -> None:
                agent.send("a", "ready")

            def on_stop(self, reason: str) -> None:
                ends.append(reason)

        with beeline.sync.attach("c") as c:
            c.serve(Handler())

    threads = [in_thread(iterate), in_thread(serve)]
    for _ in threads:
        a.receive().done()
    hive.down()
    for thread in threads:
        thread.join()
    assert "closed" in ends and [] in ends
    with pytest.raises(beeline.ClosedError):
        a.receive()


def test_detach_waits_for_receivers(agent: AgentFactory) -> None:
    a, b = agent("a"), agent("b")
    a.send("b", "x")
    assert a.detach() == 1
    assert a.closed and a.detach() == 0
    b.receive().done()


def test_a_type_that_is_no_utf8_hides_no_inbox(hive: Hive, agent: AgentFactory) -> None:
    a = agent("a")
    hive.beeline("send", "a", "x", "--type", os.fsdecode(b"caf\xe9"))
    assert [item.type for item in a.inbox()] == ["caf\ufffd"]
    a.receive(timeout=60).done()
