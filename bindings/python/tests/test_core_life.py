"""The extension: threads, forks, signals, the end of the interpreter, kills."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from beeline import _core
from beeline._errors import BeelineError, ClosedError, ForkedError, Full, WrongThread
from beeline.pytest_plugin import Hive
from core_ground import FOREVER, SECOND, attach, pair, receive


def in_thread(call: Callable[[], object]) -> object:
    """The result of a call in a thread of its own, or its exception."""
    got: list[object] = []

    def run() -> None:
        try:
            got.append(call())
        except BaseException as error:
            got.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return got[0]


def run_script(code: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-X", "dev", "-c", textwrap.dedent(code)]
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), here]))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)


def test_other_thread_is_refused_and_may_send(hive: Hive) -> None:
    a, b, peer = pair()
    a.send_nowait(peer, b"x")
    m = receive(b)
    loan = a.borrow(peer, 100)
    calls: list[Callable[[], object]] = [
        a.poll, a.fileno, a._close, lambda: a.send_nowait(peer, b""), b.try_receive, m.done,
        lambda: m.held, lambda: m.text, lambda: memoryview(m), lambda: memoryview(loan),
        loan.send_nowait, loan.release, lambda: m.type,
    ]  # fmt: skip
    for call in calls:
        error = in_thread(call)
        assert isinstance(error, WrongThread) and "send_threadsafe" in str(error)
    assert m.held and m.type == ""
    # Facts that are known, and those of the agent, are for everybody.
    assert in_thread(lambda: (m.type, a.pid, a.name, a.closed)) == ("", 2, "a", False)
    id = in_thread(lambda: a.send_threadsafe(peer, b"from afar", type="t", timeout=5.0))
    got = receive(b, type="t")
    assert got.id == id and got.text == "from afar"
    error = in_thread(lambda: a.send_threadsafe(peer, b"", about=m))
    assert isinstance(error, ValueError) and "about no message" in str(error)
    got.done()
    m.done()
    loan.release()
    a._close()
    error = in_thread(lambda: a.send_threadsafe(peer, b""))
    assert isinstance(error, ClosedError)
    b._close()


def test_threads_send_while_the_owner_waits_and_closes(hive: Hive) -> None:
    a, b, peer = pair()
    until, sent, stopped = time.monotonic() + 1, [0] * 4, [False] * 4

    def send(number: int) -> None:
        try:
            while True:
                try:
                    a.send_threadsafe(peer, bytes([number]) * 100)
                    sent[number] += 1
                except Full:
                    time.sleep(0.001)
        except ClosedError:
            stopped[number] = True

    threads = [threading.Thread(target=send, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    got = 0
    while time.monotonic() < until:
        messages = b._wait_receive_batch(100, SECOND // 10)
        got += len(messages)
        b.done_all(messages)
        a._wait(1000)
    a._close()
    for thread in threads:
        thread.join()
    assert all(stopped)
    while messages := b.try_receive_batch(1000):
        got += len(messages)
        b.done_all(messages)
    assert got == sum(sent) > 0
    b._close()


def test_last_reference_in_another_thread_waits_for_the_owner(hive: Hive) -> None:
    a, b, peer = pair()
    a.send_many(peer, [b"x"] * 10)
    held = b.try_receive_batch(10)
    loans = [a.borrow(peer, 1000)]
    in_thread(held.clear)
    in_thread(loans.clear)
    gc.collect()
    # The owner's next call requeues them.
    assert b._counters()["leased"] == 0
    again = b.try_receive_batch(10)
    assert len(again) == 10 and all(m.attempts == 1 for m in again)
    b.done_all(again)
    a._close()
    b._close()


def test_agent_may_die_in_another_thread(hive: Hive) -> None:
    a, b, peer = pair()
    a.send_nowait(peer, b"x")
    m = receive(b)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        things = [b, m]
        del b, m
        in_thread(things.clear)
        gc.collect()
    assert [w.category for w in seen] == [ResourceWarning] and "'b'" in str(seen[0].message)
    b = attach("b")
    m = receive(b)
    assert m.redelivered
    m.done()
    b._close()
    a._close()


def test_cycles_are_collected(hive: Hive) -> None:
    class Agent(_core.Agent[Any, Any, Any]):
        message: Any

    class Message(_core.Message):
        friend: Any

    for _ in range(5):
        types: Any = (Agent, Message, _core.Loan, _core.TaskRun)
        agent: Any = _core.attach(*types, name="a", temporary=True)
        agent.send_nowait("a", b"x")
        message: Any = agent._receive(1)
        agent.message = message
        message.friend = message
        gone = weakref.ref(message)
        with pytest.warns(ResourceWarning):
            del agent, message
            gc.collect()
        assert gone() is None


def test_signal_ends_a_wait(hive: Hive) -> None:
    for wait in ("adaptive", "sleep", "spin"):
        a, b, peer = pair(wait=wait)
        a.send_many(peer, [b"x"] * 10_000)
        waits: list[Callable[[], object]] = [
            lambda: a._receive(None),
            lambda: a._receive(None, type="t"),
            lambda: a._wait_receive_batch(5, FOREVER),
            lambda: a._wait(FOREVER),
            lambda: a._send(peer, b"x", timeout=float("inf")),
            lambda: a._wait_request(FOREVER, "a", b"x", rank=0),
            lambda: a._wait_task(FOREVER),
            lambda: a._wait_task_event(FOREVER),
            lambda: a._wait_for(FOREVER, "nobody"),
            lambda: a._wait_ack(FOREVER, peer, 12345),
        ]

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        old = signal.signal(signal.SIGALRM, stop)
        try:
            for number, call in enumerate(waits):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                start = time.monotonic()
                with pytest.raises(KeyboardInterrupt):
                    call()
                assert time.monotonic() - start < 5, (wait, number)
                for m in a.try_receive_batch(10):
                    m.done()
        finally:
            signal.signal(signal.SIGALRM, old)
        a._close()
        b.done_all(b.try_receive_batch(10_000))
        b._close()


def test_signal_at_any_moment_is_seen(hive: Hive) -> None:
    a = attach("a", wait="sleep")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    slow = 0
    try:
        for number in range(2000):
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, (number % 100 + 1) * 1e-6)
                a._receive(10)
            slow += time.monotonic() - start > 0.9
    finally:
        signal.signal(signal.SIGALRM, old)
    # A lost signal is seen after a second. A busy machine may be slow for once.
    assert slow <= 2
    a._close()


def test_signal_handler_may_send_and_close(hive: Hive) -> None:
    a, b, peer = pair(wait="sleep")
    old = signal.signal(signal.SIGALRM, lambda *_: a.send_nowait(peer, b"tick"))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        m = b._receive(10)
        assert m is not None and m.text == "tick"
        m.done()
        signal.signal(signal.SIGALRM, lambda *_: b._close())
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(ClosedError):
            b._receive(10)
    finally:
        signal.signal(signal.SIGALRM, old)
    a._close()


@pytest.mark.parametrize("wait", ["adaptive", "sleep", "spin"])
def test_wait_ends_when_something_comes_or_the_time_is_over(hive: Hive, wait: str) -> None:
    a, b, peer = pair(wait=wait)
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        b._receive(0.05)
    assert b._wait_receive_batch(5, SECOND // 20) == [] and not any(b._wait(SECOND // 20)[:10])
    assert 0.15 <= time.monotonic() - start < 5

    def later(payload: bytes, **options: Any) -> None:
        threading.Timer(0.05, lambda: a.send_threadsafe(peer, payload, **options)).start()

    # Others wait in the inbox, and none of them is of this type.
    a.send_many(peer, [b"other"] * 5, type="other")
    later(b"this", type="this")
    m = b._receive(10, type="this")
    assert m is not None and m.text == "this"
    b.done_all(b.try_receive_batch(10))
    later(b"any")
    assert b._wait(10 * SECOND).messages == 1
    b.done_all([m_ for m_ in b._wait_receive_batch(5, 10 * SECOND)])
    m.done()
    # A full lane: the receiver makes room meanwhile.
    a.send_many(peer, [b"x"] * 10_000)
    b.done_all(b.try_receive_batch(50))
    a._send(peer, b"last", timeout=10)
    a._close()
    b.done_all(b.try_receive_batch(10_000))
    b._close()


def test_end_of_the_hive_ends_each_wait(hive: Hive) -> None:
    a = attach("a", wait="sleep")
    waits: list[Callable[[], object]] = [
        lambda: a._receive(None),
        lambda: a._receive(None, type="t"),
        lambda: a._wait_receive_batch(5, FOREVER),
        lambda: a._wait_task(FOREVER),
        lambda: a._wait_task_event(FOREVER),
        lambda: a._wait_for(FOREVER, "nobody"),
        lambda: a._wait_ack(FOREVER, "a", 5),
        lambda: a._wait_request(FOREVER, "a", b""),
    ]
    threading.Timer(0.1, hive.down).start()
    for number, call in enumerate(waits):
        with pytest.raises(BeelineError):
            call()
            pytest.fail(f"wait {number} has ended")
    assert a._wait(FOREVER).ended
    a._close()


ECHO = """
    from core_ground import *
    c = attach("echo", wait="{wait}")
    while (m := receive(c)).type != "stop":
        m.reply_nowait(memoryview(m), channel=m.channel)
        m.done()
    m.done()
    c._close()
    """


@pytest.mark.parametrize("wait", ["adaptive", "sleep", "spin"])
def test_requests_wait_beside_other_requests(hive: Hive, wait: str) -> None:
    a = attach("a", wait=wait)
    echo = threading.Thread(target=run_script, args=(ECHO.format(wait=wait),))
    echo.start()
    peer = a._wait_for(30 * SECOND, "echo")
    started = [a.request_start(peer, str(i), 10 * SECOND) for i in range(5)]
    for i in range(200):
        assert a._wait_request(10 * SECOND, peer, f"q{i}").text == f"q{i}"
    # The answers to the others wait for next_answer(), as poll() says.
    assert a.poll().answers == 5
    assert [a.next_answer()[0] for _ in started] == started and a.next_answer() is None
    with pytest.raises(TimeoutError):
        a._wait_request(1000, "a", b"nobody reads it")
    a.send_nowait(peer, b"", type="stop")
    echo.join()
    a._close()


def test_interpreter_goes_on_while_an_agent_waits(hive: Hive) -> None:
    a = attach("a")
    count, stop = 0, threading.Event()

    def work() -> None:
        nonlocal count
        while not stop.is_set():
            count += 1

    thread = threading.Thread(target=work)
    thread.start()
    before = count
    a._wait(SECOND // 10)
    assert count - before > 100
    stop.set()
    thread.join()
    a._close()


def test_fork_leaves_the_agent_to_its_parent(hive: Hive) -> None:
    a, b, peer = pair()
    a.send_nowait(peer, b"x" * 1000)
    m = receive(b)
    view = m.payload
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            uses: list[Callable[[], object]] = [
                a.poll, b.try_receive, m.done, lambda: m.text, lambda: memoryview(m), a._close,
                lambda: a.send_threadsafe(peer, b""), lambda: a.send_nowait(peer, b""),
            ]  # fmt: skip
            for use in uses:
                try:
                    use()
                    os._exit(2)
                except ForkedError as error:
                    assert "attach another agent" in str(error)
            assert a.closed and a.pid == 2
            view.release()
            del m, a, b, uses, view, use
            gc.collect()
            c = attach("c")
            c.send_nowait("b", b"from the child")
            c._wait_detach(SECOND)
            c._close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert m.held and bytes(view) == b"x" * 1000
    view.release()
    m.done()
    m = receive(b)
    assert m.text == "from the child"
    m.done()
    a._close()
    b._close()


def test_interpreter_ends_with_all_things_alive(hive: Hive) -> None:
    ended = run_script("""
        import threading
        from beeline import _core
        from core_ground import *
        a, b, peer = pair()
        a.send_many(peer, [b"x"] * 10)
        held = b.try_receive_batch(5)
        views = [memoryview(m) for m in held]
        loan = a.borrow(peer, 1000)
        view = memoryview(loan)
        attaching = _core.Attaching(name="c")
        a.request_start(peer, b"", FOREVER)
        cycle = [a, b]
        cycle.append(cycle)
        class Late:
            def __del__(self):
                for call in (a.poll, b.try_receive, held[0].done, lambda: held[1].type):
                    try:
                        call()
                    except Exception:
                        pass
        late = Late()
        threading.Thread(target=lambda: threading.Event().wait(), daemon=True).start()
        print("end")
        """)
    assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr
    # The kernel took everything back; the hive gives the messages to the next life.
    b = attach("b")
    messages = b._wait_receive_batch(20, 10 * SECOND)
    assert len([m for m in messages if m.redelivered]) == 5
    b.done_all(messages)
    b.done_all(b.try_receive_batch(20))
    b._close()


def test_interpreter_ends_beside_threads_that_wait(hive: Hive) -> None:
    for _ in range(3):
        ended = run_script("""
            import threading, time
            from core_ground import *
            a, b, peer = pair()
            a.send_many(peer, [b"x"] * 10_000)
            def receive_always():
                c = attach("c")
                while True:
                    c._wait(20_000)
            def send_always():
                while True:
                    try:
                        a.send_threadsafe(peer, b"x", timeout=1e-5)
                    except Exception:
                        pass
            for work in (receive_always, send_always, send_always):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.05)
            print("end")
            """)
        assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr


def test_open_agent_warns_when_it_dies(hive: Hive) -> None:
    ended = run_script("""
        from core_ground import *
        a = attach("a")
        del a
        print("on")
        """)
    assert ended.returncode == 0 and "'a' was not closed" in ended.stderr


def test_kill_between_receive_and_done_costs_an_attempt(hive: Hive) -> None:
    a = attach("a")
    first = attach("b")
    peer = a.find_peer("b")
    first._close()
    id = a.send_nowait(peer, b"precious")
    killed = run_script("""
        import os
        from core_ground import *
        m = receive(attach("b"))
        assert m.text == "precious" and m.attempts == 0
        os.kill(os.getpid(), 9)
        """)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    b = attach("b")
    m = receive(b)
    assert (m.id, m.text, m.attempts, m.redelivered) == (id, "precious", 1, True)
    m.done()
    b._close()
    a._close()


def test_descriptors_above_1024_work(hive: Hive) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("this system allows no 2,000 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    many = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        a, b, peer = pair()
        assert b.fileno() > 1024
        threading.Timer(0.05, lambda: a.send_threadsafe(peer, b"x")).start()
        receive(b).done()
        a._close()
        b._close()
    finally:
        for descriptor in many:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
