"""A plugin for pytest: a hive of its own for each test, agents in it, and a look at leftovers.

The fixtures are `hive`, `agent`, `aio_agent` and `beeline_loop`. After each test that uses one of
them and passes, the plugin checks that the books of each inbox balance, that no message is still in
hand, and that no process, no descriptor and no file is left. A test that leaves something on
purpose says so: `@pytest.mark.beeline_leaves("lease")`, also "process", "descriptor" and "file"."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

import beeline.aio
import beeline.sync
from beeline import _bin, _leftovers

KINDS = ("lease", "process", "descriptor", "file")
_MARK = "beeline_leaves"
# The log of a hive that has ended stays for its user.
_LAST_LOG = "beelined.last.log"
_BALANCE_PATIENCE = 5.0
_DESCRIPTOR_PATIENCE = 1.0
_PASSED = pytest.StashKey[bool]()


class AgentFactory(Protocol):
    def __call__(self, name: str = "", **options: Any) -> beeline.sync.Agent: ...


class AioAgentFactory(Protocol):
    async def __call__(self, name: str = "", **options: Any) -> beeline.aio.Agent: ...


class Hive:
    """The hive of one test. The first agent that attaches starts its coordinator."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # Found now, because the test may change the environment.
        self._program = _program()

    @property
    def keeper(self) -> int:
        """The pid of the process that keeps the hive; 0 if the hive does not run."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = (self.directory / "lock").read_text(encoding="utf-8").split()
            pid = int(words[words.index("pid") + 1])
            if _leftovers.is_alive(pid):
                return pid
        return 0

    @property
    def coordinator(self) -> int:
        """The pid of the coordinator, which the keeper starts again after its death."""
        return int(self.status()["coordinator_pid"])

    def beeline(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs the command line `beeline` in this hive."""
        if self._program is None:
            raise FileNotFoundError("there is no program `beeline`: set BEELINE_BIN to its folder")
        environment = {**os.environ, "BEELINE_DIR": str(self.directory)}
        done = subprocess.run(
            [self._program, *words], capture_output=True, text=True, check=False, env=environment
        )
        if check and done.returncode != 0:
            call = " ".join(["beeline", *words])
            raise AssertionError(f"{call} exits with {done.returncode}: {done.stderr.strip()}")
        return done

    def status(self) -> dict[str, Any]:
        """The answer of `beeline status --json`."""
        found: dict[str, Any] = json.loads(self.beeline("status", "--json").stdout)
        return found

    def log(self) -> str:
        """The log of keeper and coordinator."""
        for name in ("beelined.log", _LAST_LOG):
            with contextlib.suppress(OSError):
                return (self.directory / name).read_text(encoding="utf-8", errors="replace")
        return ""

    def down(self) -> None:
        """Ends the hive, and waits until it has ended."""
        keeper = self.keeper
        if keeper:
            with contextlib.suppress(ProcessLookupError):
                os.kill(keeper, signal.SIGTERM)
            if not _leftovers.wait_until(lambda: not self.keeper):
                raise AssertionError(f"the keeper {keeper} does not end\n{self.log()}")

    def faults(self) -> Iterator[tuple[str, str]]:
        """(kind, text) of each inbox whose books do not balance, or that has messages in hand."""
        if not self.keeper or self._program is None:
            return
        found: list[tuple[str, str]] = []

        def is_quiet() -> bool:
            status = self.status()
            found[:] = [fault for inbox in status["inboxes"] for fault in _faults_of(inbox)]
            if status["accounts_error"]:
                found.append(("balance", f"the books cannot be read: {status['accounts_error']}"))
            return not any(kind == "balance" for kind, _ in found)

        _leftovers.wait_until(is_quiet, _BALANCE_PATIENCE)
        yield from found


def _faults_of(inbox: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name = inbox["name"] or inbox["pid"]
    if inbox["balanced"] is False or inbox["accounts_error"]:
        terms = ("accepted", "in_lanes", "queued", "tasks", "leased", "done", "dead", "purged")
        books = ", ".join(f"{inbox.get(term)} {term}" for term in terms)
        yield "balance", f"the inbox of {name} does not balance: {books}"
    elif inbox["leased"]:
        yield "lease", f"{name} still has {inbox['leased']} messages in hand"


def _program() -> str | None:
    folders = (os.environ.get("BEELINE_BIN", ""), _bin.FOLDER)
    found = (shutil.which("beeline", path=folder) for folder in folders if folder)
    return next((program for program in found if program), None) or shutil.which("beeline")


class _Room:
    """A hive with the agents of one test, and the state of our process before them."""

    def __init__(self, hive: Hive) -> None:
        self.hive = hive
        self.agents: list[beeline.sync.Agent | beeline.aio.Agent] = []
        self._descriptors = _leftovers.descriptors()
        self._children = _leftovers.children()
        self._faults: list[tuple[str, str]] = []

    def close_agents(self) -> None:
        """Looks at the books while the agents live, then closes them, the last one first."""
        if not self.agents:
            return
        gc.collect()
        self._faults += self.hive.faults()
        while self.agents:
            # It needs no loop, and waits for nothing.
            self.agents.pop()._close(force=True)

    def leftovers(self, allowed: set[str]) -> Iterator[str]:
        """A text for each fault, when all agents are closed. Ends the hive."""
        gc.collect()
        yield from (text for kind, text in self._faults if kind not in allowed)
        if not self._faults:
            yield from (text for kind, text in self.hive.faults() if kind == "balance")
        if "process" not in allowed:
            yield from self._processes()
        self.hive.down()
        if "descriptor" not in allowed:
            look, patience = _leftovers.descriptors, _DESCRIPTOR_PATIENCE
            for number, text in _leftovers.new_since(self._descriptors, look, patience).items():
                yield f"descriptor {number} is open: {text}"
        if "file" not in allowed:
            for file in sorted(self.hive.directory.iterdir()):
                if file.name != _LAST_LOG:
                    yield f"the file {file.name} is in the directory of the hive"

    def _processes(self) -> Iterator[str]:
        """Ends each process that is left, so that it does not disturb the next test."""

        def look() -> _leftovers.Found:
            in_hive = _leftovers.processes_with("BEELINE_DIR", str(self.hive.directory))
            own = self._own_processes()
            children = {**_leftovers.children(), **in_hive}
            return {pid: text for pid, text in children.items() if pid not in own}

        for pid, text in _leftovers.new_since(self._children, look).items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            yield f"process {pid} is left, and was killed: {text}"

    def _own_processes(self) -> set[int]:
        keeper = self.hive.keeper
        if not keeper:
            return set()
        try:
            words = Path(f"/proc/{keeper}/task/{keeper}/children").read_text(encoding="utf-8")
        except OSError:
            words = ""
        return {keeper, *map(int, words.split())}

    def end(self) -> None:
        """Ends the hive after a test that has failed, too, and removes its directory."""
        try:
            self.hive.down()
        finally:
            shutil.rmtree(self.hive.directory, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    kinds = ", ".join(f'"{kind}"' for kind in KINDS)
    config.addinivalue_line(
        "markers", f"{_MARK}(kind, ...): the test leaves this behind on purpose: {kinds}"
    )


def pytest_report_header() -> list[str]:
    if _program() is None:
        return ["beeline: no program `beeline` is here, so the books of inboxes are not checked"]
    return []


@pytest.hookimpl(hookwrapper=True)  # type: ignore[misc]
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    outcome = yield
    if call.when == "call":
        item.stash[_PASSED] = outcome.get_result().passed


def _allowed(node: pytest.Item) -> set[str]:
    found = {str(kind) for mark in node.iter_markers(_MARK) for kind in mark.args}
    if unknown := found.difference(KINDS):
        raise pytest.UsageError(f"{_MARK} does not know {sorted(unknown)}, but {list(KINDS)}")
    return found


@pytest.fixture
def _beeline_room(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[_Room]:
    # The path of a socket has at most 107 bytes, so this is no tmp_path.
    directory = Path(tempfile.mkdtemp(prefix="beeline-test-"))
    monkeypatch.setenv("BEELINE_DIR", str(directory))
    monkeypatch.delenv("BEELINE_HIVE", raising=False)
    allowed = _allowed(request.node)
    room = _Room(Hive(directory))
    try:
        yield room
        room.close_agents()
        if request.node.stash.get(_PASSED, False):
            if found := list(room.leftovers(allowed)):
                pytest.fail("\n".join(["The test leaves something behind:", *found]), pytrace=False)
        elif log := room.hive.log():
            request.node.add_report_section("teardown", "beelined", log)
    finally:
        room.end()


@pytest.fixture
def hive(_beeline_room: _Room) -> Hive:
    """A hive of this test alone. $BEELINE_DIR names its directory."""
    return _beeline_room.hive


@pytest.fixture
def agent(_beeline_room: _Room) -> Iterator[AgentFactory]:
    """`agent(name, **options)` attaches an agent of beeline.sync. It is closed after the test."""

    def attach(name: str = "", **options: Any) -> beeline.sync.Agent:
        attached: beeline.sync.Agent = beeline.sync.attach(name, **options)
        _beeline_room.agents.append(attached)
        return attached

    yield attach
    _beeline_room.close_agents()


@pytest.fixture
def aio_agent(_beeline_room: _Room, request: pytest.FixtureRequest) -> Iterator[AioAgentFactory]:
    """`await aio_agent(name, **options)` attaches an agent of beeline.aio in the running loop.

    It is closed before `beeline_loop` is, and before the loop of pytest-asyncio, if that has one
    in a fixture."""
    for loop in ("beeline_loop", "event_loop"):
        if loop in request.fixturenames:
            request.getfixturevalue(loop)

    async def attach(name: str = "", **options: Any) -> beeline.aio.Agent:
        attached: beeline.aio.Agent = await beeline.aio.attach(name, **options)
        _beeline_room.agents.append(attached)
        return attached

    yield attach
    _beeline_room.close_agents()


@pytest.fixture
def beeline_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop for a test without `async`: `beeline_loop.run_until_complete(...)`."""
    loop = asyncio.new_event_loop()
    try:
        yield loop
        _end_tasks(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))
