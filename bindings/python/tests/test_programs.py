"""The examples run, and print what they say. docs/python.md is made of them."""

from __future__ import annotations

import ast
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beeline.pytest_plugin import AgentFactory, Hive
from conftest import PATIENCE, Script

EXAMPLES = Path(__file__).parent.parent / "examples"
PROGRAMS = ["tree", "fetch", "threads", "arrays", "tasks"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_prints_what_it_says(hive: Hive, name: str) -> None:
    if name == "arrays":
        pytest.importorskip("numpy")
    file = EXAMPLES / f"{name}.py"
    said = ast.get_docstring(ast.parse(file.read_text())) or ""
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    expected = said.partition("Prints:\n")[2] + "\n"
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)


@pytest.mark.usefixtures("steward")
def test_the_children_live_and_end_as_they_say(hive: Hive) -> None:
    test_an_example_prints_what_it_says(hive, "children")


def test_the_worker_answers(agent: AgentFactory, hive: Hive, script: Script) -> None:
    worker = script((EXAMPLES / "worker.py").read_text())
    a = agent("a")
    a.wait_for("worker", timeout=PATIENCE)
    assert hive.beeline("request", "worker", "hello").stdout.strip() == "HELLO"
    hive.down()
    assert worker.wait() == 0


@pytest.mark.usefixtures("steward")
@pytest.mark.beeline_leaves("file")
def test_the_demo_has_a_worker_in_python(hive: Hive) -> None:
    report = json.loads(hive.beeline("demo", "--json").stdout)
    assert report["python"] and all(check["passed"] for check in report["checks"])
    (worker,) = [entry for entry in report["accounts"] if entry["agent"] == "worker-4"]
    assert worker["drained"] == worker["done"] > 0


def test_the_notebook_runs_in_a_loop(hive: Hive, capsys: pytest.CaptureFixture[str]) -> None:
    code = (EXAMPLES / "notebook.py").read_text()
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    names: dict[str, Any] = {"__name__": "__main__"}

    async def kernel() -> None:
        for cell in code.split("\n\n"):
            result = eval(compile(cell, "cell", "exec", flags), names)
            if result is not None:
                await result

    asyncio.run(kernel())
    assert capsys.readouterr().out == "HELLO\n"


def test_all_examples_are_run() -> None:
    others = ("buffer_", "hive_", "exchange_", "spool_")  # with tests of their own
    files = {file.stem for file in EXAMPLES.glob("*.py") if not file.stem.startswith(others)}
    assert files == {*PROGRAMS, "children", "worker", "notebook"}
