"""The task folder: no hive is needed, real files and real processes are."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import beeline
from beeline import spool
from conftest import PATIENCE, Script

@pytest.fixture
def box(tmp_path: Path) -> Iterator[spool.Spool]:
    with spool.Spool(tmp_path / "box", worker="w") as opened:
        yield opened


def run(*arguments: str) -> tuple[str, str]:
    words = [sys.executable, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.stdout, done.stderr


def ids(box: spool.Spool, folder: spool.Folder) -> list[str]:
    return [file["id"] for file in box.list(folder)]


# DR-005, DR-006, DR-012, DR-014: the files of a task's life.
def test_a_claim_ends_as_its_body_ends(box: spool.Spool) -> None:
    assert box.put(id="a", title="A", priority=2) == "a"
    box.put({"id": "b", "mine": [1]}, description="words")
    with box.claim(timeout=0) as first:
        assert (first.id, first.title, first.priority, first.held) == ("a", "A", 2, True)
        first.write_note("half")
        first.heartbeat()
        assert first.note == "half"
    assert (first.held, first.task["claimed_by"]) == (False, "w")
    with pytest.raises(ZeroDivisionError), box.claim():
        raise ZeroDivisionError("no way")
    with box.claim() as second:
        assert second.task["last_error"] == "no way" and second.task["attempts"] == 2
        assert second.description == "words" and dict(second.task)["mine"] == [1]
        second.done("twelve", verdict="pass", reason="all", tokens=7)
    result: Any = box.find("b")["completion"]
    assert (result["verdict_reason"], result["tokens"]) == ("all", 7)
    with pytest.raises(spool.TaskNotFound):
        second.fail("late")
    box.put(id="c")
    box.claim().fail("no such \udcff file")
    assert ids(box, "failed") == ["c"] and ids(box, "outbox") == ["a", "b"]


# DR-020: each error has a class.
def test_errors_have_classes(box: spool.Spool, tmp_path: Path) -> None:
    box.put(id="a")
    with pytest.raises(spool.TaskExists) as caught:
        box.put(id="a")
    assert (caught.value.code, caught.value.errno) == ("ErrTaskExists", 0)
    wrongs: list[dict[str, object]] = [{"id": "../x"}, {"priority": "x"}, {"n": float("nan")}]
    for wrong in wrongs:
        with pytest.raises(spool.InvalidTask, match="invalid task format"):
            box.put(wrong)
    box.claim().keep()
    with pytest.raises(spool.NoTasks, match="in 0.01 s"):
        box.claim(timeout=0.01)
    (tmp_path / "file").touch()
    with pytest.raises(spool.MailboxDirError) as failed:
        spool.Spool(tmp_path / "file")
    assert isinstance(failed.value, beeline.BeelineError) and failed.value.errno != 0
    with pytest.raises(beeline.InvalidArgument, match="poll_every_ns"):
        spool.Spool(tmp_path, poll_every=0)


def test_a_claim_that_is_dropped_goes_back(box: spool.Spool) -> None:
    box.put(id="a")
    claim: Any = box.claim()
    del claim
    gc.collect()
    claim = box.try_claim()
    box.close()
    assert box.closed and not claim.held and claim.id == "a"
    with pytest.raises(beeline.ClosedError):
        box.try_claim()
    with spool.Spool(box.dir, sync="full") as again:
        assert again.claim().task["attempts"] == 3 and again.config["sync"] == "full"


# DR-016, C-24: a worker is killed, and its claim goes to the one that waits, at once.
def test_the_claim_of_a_killed_process_comes_back(box: spool.Spool, script: Script) -> None:
    box.put(id="a")
    code = "from beeline import spool\nclaim = spool.Spool({!r}).claim()\nprint(input(claim.id))"
    worker = script(code.format(box.dir))
    assert worker.stdout is not None and worker.stdout.read(1) == "a"
    assert box.try_claim() is None
    threading.Timer(0.05, worker.kill).start()
    with box.claim(timeout=PATIENCE) as claim:
        assert (claim.id, claim.task["attempts"]) == ("a", 2)


def test_a_successor_takes_claims_over(box: spool.Spool) -> None:
    box.put(id="a")
    run("-c", f"from beeline import spool\nspool.Spool({box.dir!r}, worker='w').claim().keep()")
    (claim,) = box.take_over()
    assert box.sweep()["recovered"] == []
    claim.keep()
    box.held("a").done()
    assert ids(box, "outbox") == ["a"]


def test_ctrl_c_ends_a_wait(box: spool.Spool) -> None:
    with box.watch() as changes:
        waits: list[Callable[[], object]] = [box.claim, changes.__next__]
        for wait in waits:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                wait()


# DR-009: no task is claimed twice, by threads that share a spool.
def test_threads_share_a_spool(box: spool.Spool) -> None:
    expected = [box.put() for _ in range(100)]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: list(iter(box.try_claim, None)), range(3)))
    assert sorted(claim.id for claims in found for claim in claims) == sorted(expected)


def test_a_fork_leaves_the_spool_alone(box: spool.Spool) -> None:
    box.put(id="a")
    claim: Any = box.claim()
    if (pid := os.fork()) == 0:
        try:
            claim.done()
        except beeline.ForkedError:
            del claim
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    claim.done()


def test_changes_and_remarks_are_told(box: spool.Spool) -> None:
    with box.watch() as changes:
        box.put(id="a")
        box.claim().done()
        assert next(changes) == spool.Change("a", "inbox", True)
        while next(changes) != spool.Change("a", "outbox", True):
            pass
    Path(box.dir, "inbox", "bad.json").write_text("{")  # DR-011: it blocks nobody
    os.utime(Path(box.dir, "inbox", "bad.json"), (1, 1))
    assert box.try_claim() is None
    (remark,) = box.remarks()
    assert "bad" in remark and box.remarks() == []


async def test_coroutines_wait_for_tasks(box: spool.Spool) -> None:
    with pytest.raises(spool.NoTasks):
        await box.aclaim(timeout=0.01)
    waiting = [asyncio.ensure_future(box.aclaim()) for _ in range(3)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()
    with spool.Spool(box.dir) as producer:
        expected = {producer.put(), producer.put()}
    assert {claim.id for claim in await asyncio.gather(*waiting[1:])} == expected
    del waiting  # the claims go back
    async for claim in box.claims():
        with claim:
            expected.remove(claim.id)
        if not expected:
            break
    last = asyncio.ensure_future(box.aclaim())
    await asyncio.sleep(0.01)
    with pytest.raises(beeline.WrongLoop):
        await asyncio.to_thread(lambda: asyncio.run(box.aclaim()))
    box.close()
    with pytest.raises(beeline.ClosedError):
        await last


def test_the_example_works(box: spool.Spool) -> None:
    example = Path(__file__).parent.parent / "examples" / "spool_worker.py"
    box.put(id="a", description="to be or not to be")
    assert run(str(example), box.dir) == ("a 6 words\nno tasks\n", "")
    assert box.find("a")["completion"]["output"] == "6 words"


def test_a_build_without_the_room_says_so() -> None:
    code = "from beeline import _core\ndel _core.Spool\nimport beeline.spool"
    assert "ImportError: beeline.spool: this build of Beeline has no task" in run("-c", code)[1]
