"""The agents of one test: in its own loop, and as processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from beeline.hive import HiveAgent
from beeline.pytest_plugin import Hive

TESTS = Path(__file__).parent
EXAMPLES = TESTS.parent / "examples"
_PATIENCE = 30.0
_A = TypeVar("_A", bound=HiveAgent)


class Process:
    """An agent that the runner runs."""

    def __init__(self, process: asyncio.subprocess.Process, pid: int) -> None:
        self.process = process
        self.pid = pid  # of the agent

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    async def end(self) -> int:
        """Asks it to end; returns its exit code."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), _PATIENCE)


class Ground:
    """Starts agents, and ends them all at the end of the test."""

    def __init__(self, hive: Hive) -> None:
        self.hive = hive
        self._runs: list[tuple[HiveAgent, asyncio.Task[None]]] = []
        self._processes: list[Process] = []

    async def run(self, agent: _A, name: str, parent: str = "", role: str = "") -> _A:
        """Runs an agent in this loop."""
        agent.config.name = name
        agent.config.metadata.update(parent=parent, role=role)
        ready = asyncio.Event()
        run = asyncio.create_task(agent.run_with(ready.set))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait((run, waiting), return_when=asyncio.FIRST_COMPLETED)
        if run.done():
            waiting.cancel()
            run.result()
        self._runs.append((agent, run))
        return agent

    async def stop(self, agent: HiveAgent) -> None:
        """Ends an agent of run()."""
        agent.stop()
        for ran, run in self._runs:
            if ran is agent:
                await run

    async def start(
        self,
        words: str,
        name: str,
        parent: str = "",
        folder: Path = EXAMPLES,
        /,
        **environment: str,
    ) -> Process:
        """Starts an agent as a process, and waits until it is ready."""
        names = {"BEELINE_NAME": name, "BEELINE_PARENT": parent}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "beeline.hive.runner", "--agent", words),
            cwd=folder,
            env={**os.environ, **names, **environment},
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), _PATIENCE)
        ready, _, pid = line.decode().partition(" ")
        assert ready == "READY", line
        self._processes.append(Process(process, int(pid)))
        return self._processes[-1]

    async def program(self, *words: str) -> asyncio.subprocess.Process:
        """Starts the program `beeline`. The test ends it."""
        pipe = asyncio.subprocess.PIPE
        program = Path(os.environ["BEELINE_BIN"]) / "beeline"
        return await asyncio.create_subprocess_exec(program, *words, stdin=pipe, stdout=pipe)

    async def end(self) -> None:
        for each in reversed(self._processes):
            if each.process.returncode is None:
                await each.end()
        for agent, _ in reversed(self._runs):
            agent.stop()
        await asyncio.gather(*(run for _, run in self._runs), return_exceptions=True)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits until it holds; the watchdog of the suite ends a test that waits for ever."""
    while not await condition():
        await asyncio.sleep(0.02)


def scene(test: Callable[[Ground], Awaitable[None]]) -> Callable[[Hive], None]:
    """Makes a test of a coroutine: it gets a Ground in a hive of its own."""

    def played(hive: Hive) -> None:
        async def play() -> None:
            ground = Ground(hive)
            try:
                await asyncio.wait_for(test(ground), 2 * _PATIENCE)
            finally:
                await ground.end()

        asyncio.run(play())

    played.__name__ = test.__name__
    played.__doc__ = test.__doc__
    return played
