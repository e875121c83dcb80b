"""Tests that are coroutines run in `beeline_loop`; `script` runs a program in the hive."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

PATIENCE = 100.0  # bounds a hang


class Script(Protocol):
    def __call__(self, code: str, *arguments: str) -> subprocess.Popen[str]: ...


def pytest_itemcollected(item: Any) -> None:
    if inspect.iscoroutinefunction(getattr(item, "obj", None)):
        item.fixturenames.insert(0, "beeline_loop")


@pytest.hookimpl(tryfirst=True)  # type: ignore[misc]
def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    test = asyncio.wait_for(pyfuncitem.obj(**arguments), PATIENCE)
    pyfuncitem.funcargs["beeline_loop"].run_until_complete(test)
    return True


@pytest.fixture
def steward() -> None:
    """For tests that need the program that starts processes. A build may be without it."""
    if not (Path(os.environ.get("BEELINE_BIN", "")) / "beeline-steward").exists():
        pytest.skip("this build has no beeline-steward")


@pytest.fixture
def script(hive: Any) -> Iterator[Script]:
    """`script(code, ...)` starts a Python program; it is killed after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", textwrap.dedent(code), *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
