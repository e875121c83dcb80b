"""The rules for a binding about processes: fork, kill, signals, the exit of the interpreter."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

import beeline
import beeline.sync
from beeline.pytest_plugin import AgentFactory, AioAgentFactory, Hive
from conftest import Script


async def test_a_fork_leaves_the_parent_alone(aio_agent: AioAgentFactory) -> None:
    a = await aio_agent("a")
    waiting = asyncio.ensure_future(a.receive())
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            try:
                a.try_receive()
            except beeline.ForkedError:
                code = 2
            loop.remove_reader(0)
            del waiting, loop
            gc.collect()

            async def live() -> None:
                async with beeline.attach("child") as child:
                    await child.send("a", "from the child")

            asyncio.run(live())
            code += 1
        finally:
            os._exit(code)
    async with await waiting as m:
        assert m.text == "from the child"
    _, status = await asyncio.to_thread(os.waitpid, pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    await a.send("a", "the loop is not deaf")
    (await a.receive()).done()


def test_a_kill_between_receive_and_done(agent: AgentFactory, script: Script) -> None:
    a = agent("a")
    worker = script(
        """
        import beeline.sync
        with beeline.sync.attach("worker") as agent:
            message = agent.receive()
            print(message.text, flush=True)
            input()
        """
    )
    a.wait_for("worker", timeout=60)
    a.send("worker", "precious")
    assert worker.stdout is not None and worker.stdout.readline() == "precious\n"
    worker.kill()
    worker.wait()
    with agent("worker").receive(timeout=60) as m:
        assert m.redelivered and m.attempts == 1 and m.text == "precious"


@pytest.mark.parametrize("call", ["receive", "request a x", "wait_for nobody"])
def test_ctrl_c_ends_a_wait_at_once(agent: AgentFactory, script: Script, call: str) -> None:
    a = agent("a")
    waiter = script(
        """
        import sys, beeline.sync
        with beeline.sync.attach("waiter") as agent:
            try:
                agent.send("a", "ready")
                getattr(agent, sys.argv[1])(*sys.argv[2:])
            except KeyboardInterrupt:
                agent.send("a", "interrupted")
        """,
        *call.split(),
    )
    a.receive().done()
    while ") S " not in Path(f"/proc/{waiter.pid}/stat").read_text():
        pass
    waiter.send_signal(signal.SIGINT)
    while (m := a.receive()).text != "interrupted":
        m.done()
    m.done()
    assert waiter.wait() == 0


def test_a_signal_that_raises_nothing_ends_no_wait(agent: AgentFactory) -> None:
    a = agent("a")
    heard = threading.Event()
    peer = a.peer("a")
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.set())

    def disturb() -> None:
        for _ in range(5):
            heard.clear()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            heard.wait()
        a.send_threadsafe(peer, "x")

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        a.receive().done()
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.beeline_leaves("file")
@pytest.mark.parametrize("face", ["asyncio.run(main())", "use(beeline.sync.attach('a'))"])
def test_nothing_is_done_at_the_exit_of_the_interpreter(hive: Hive, face: str) -> None:
    code = f"""
import asyncio, threading, beeline, beeline.sync
def use(agent):
    global kept, message, view, iterator
    kept = agent
    kept.send_threadsafe(kept.peer("a") if isinstance(agent, beeline.sync.Agent) else "a", "x" * 99)
    message = kept.try_receive()
    view = message.payload
    iterator = kept.messages()
async def main():
    agent = await beeline.attach("a")
    await agent.peer("a")
    asyncio.create_task(agent.receive(type="t"))
    await asyncio.sleep(0)
    use(agent)
{face}
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore::ResourceWarning", "-c", code],
        capture_output=True, text=True, timeout=60, check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_waiting_thread_lets_others_run(agent: AgentFactory) -> None:
    a = agent("a")
    peer = a.peer("a")
    thread = threading.Thread(target=lambda: a.send_threadsafe(peer, "x"))
    thread.start()
    a.receive().done()  # would wait for ever with the interpreter's lock
    thread.join()
