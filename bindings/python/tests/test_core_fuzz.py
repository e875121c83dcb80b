"""The extension with wrong types and in wrong order: see core_fuzz.py."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from beeline.pytest_plugin import Hive

SEED = int(os.environ.get("BEELINE_FUZZ_SEED", "1"))
CALLS = int(os.environ.get("BEELINE_FUZZ_CALLS", "4000"))


@pytest.mark.beeline_leaves("lease", "process", "descriptor", "file")
def test_no_call_crashes(hive: Hive) -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "core_fuzz.py")
    words = [sys.executable, "-X", "faulthandler", program, str(SEED), str(CALLS)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0 and "alive" in ended.stdout, ended.stderr[-4000:]
