"""The import path of the document, which a distribution of one file adds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from beeline.pytest_plugin import Hive

EXTRA = Path(__file__).parents[1] / "extras" / "lionpride" / "src"
PROGRAM = """
import asyncio, sys
from uuid import uuid4
sys.path.insert(0, sys.argv[1])
from lionpride.session.mail import OUTBOX, Exchange, Mail

async def main():
    alice, bob = uuid4(), uuid4()
    exchange = Exchange()
    exchange.register(alice)
    exchange.register(bob)
    exchange.send(alice, bob, content="Hello Bob!")
    await exchange.sync()
    messages = exchange.receive(bob, sender=alice)
    print(messages[0].content, OUTBOX, Mail.__module__)

asyncio.run(main())
"""


def run(folder: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], capture_output=True, text=True, check=True
    ).stdout


def test_a_program_of_the_document_runs_under_its_import_path() -> None:
    assert run(EXTRA) == "Hello Bob! outbox beeline.exchange.mail\n"


def test_another_package_of_that_path_goes_first(tmp_path: Path) -> None:
    shutil.copytree(EXTRA, tmp_path, dirs_exist_ok=True)
    theirs = tmp_path / "lionpride" / "session" / "mail"
    theirs.mkdir()
    for folder in (theirs, theirs.parent, theirs.parent.parent):
        (folder / "__init__.py").touch()
    module = "from beeline.exchange import *\nclass Mail: __module__ = 'theirs'\n"
    (theirs / "__init__.py").write_text(module, encoding="utf-8")
    assert run(tmp_path) == "Hello Bob! outbox theirs\n"


def example(name: str) -> str:
    return str(Path(__file__).parents[1] / "examples" / f"exchange_{name}.py")


def test_the_entities_of_one_process_talk() -> None:
    command = [sys.executable, example("talk")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "2\na plan\ntasks review\n"


def test_a_reviewer_that_is_killed_is_replaced(hive: Hive) -> None:
    for _ in range(2):
        reviewer = subprocess.Popen([sys.executable, example("review"), "reviewer"])
        author = [sys.executable, example("review"), "author"]
        done = subprocess.run(author, capture_output=True, text=True, check=True)
        reviewer.kill()
        reviewer.wait()
        assert done.stdout == "chapter 1: well done\n"
