"""docs/hive.md: its programs are lines of the examples, and its session runs as it is written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from beeline.pytest_plugin import Hive
from hive_ground import EXAMPLES

_PAGE = EXAMPLES.parent.parent.parent / "docs" / "hive.md"


def blocks(language: str) -> list[str]:
    text = _PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_programs_are_lines_of_the_examples() -> None:
    sources = [path.read_text(encoding="utf-8") for path in EXAMPLES.glob("hive_*.py")]
    for block in blocks("python"):
        parts = block.split("...\n")
        assert any(all(part in source for part in parts) for source in sources), block


def test_the_session_runs_as_it_is_written(hive: Hive, tmp_path: Path) -> None:
    for path in EXAMPLES.glob("hive_*.py"):
        shutil.copy(path, tmp_path)
    lines = "".join(blocks("console")).splitlines()
    script = "\n".join(line[2:] for line in lines if line.startswith("$ "))
    done = subprocess.run(
        ["bash", "-c", f"{script}\nkill $(jobs -p); wait"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{os.environ['BEELINE_BIN']}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.splitlines() == [line for line in lines if not line.startswith("$ ")]
