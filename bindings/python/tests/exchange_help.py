"""A second process with an entity, for the tests of the exchange."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID, uuid4

import pytest

from beeline.exchange import Exchange, Mail
from beeline.pytest_plugin import Hive

PROGRAM = Path(__file__).with_name("exchange_process.py")
A, B, C = uuid4(), uuid4(), uuid4()


class Process:
    """exchange_process.py in a role."""

    def __init__(self, role: str, me: UUID, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), role, str(me), *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        assert self.read() == "ready"

    def read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def read_until(self, last: str) -> list[Any]:
        lines = []
        while (line := self.read()) != last:
            assert line, "the process has ended"
            lines.append(json.loads(line))
        return lines

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


class Start(Protocol):
    def __call__(self, role: str, me: UUID, *arguments: object) -> Process: ...


@pytest.fixture
def start(hive: Hive) -> Iterator[Start]:
    started: list[Process] = []

    def start(role: str, me: UUID, *arguments: object) -> Process:
        started.append(Process(role, me, *arguments))
        return started[-1]

    yield start
    for process in started:
        process.kill()


async def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


async def send_all(exchange: Exchange) -> int:
    """Syncs until the outboxes are empty."""
    count = 0
    while True:
        count += await exchange.sync()
        if repr(exchange).endswith("pending_out=0)"):
            return count
        await asyncio.sleep(0.01)


def contents(mails: list[Mail]) -> list[Any]:
    return [mail.content for mail in mails]
