"""A hive of a test's own, and a shell in it as a reader of the documents has it."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile


def has_verb(build, verb):
    """Whether this build of `beeline` has the verb; a build may be without a room."""
    words = [str(pathlib.Path(build, "bin", "beeline")), verb, "--help"]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return f"Usage: beeline {verb} " in said


@contextlib.contextmanager
def hive(source, build):
    """Yields a folder that looks like a built tree, and the environment of a hive of its own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="docs-test-"))
    (folder / "tree").mkdir()
    for name in ("README.md", "examples", "Makefile"):
        (folder / "tree" / name).symlink_to(pathlib.Path(source, name).resolve())
    (folder / "tree" / "build").symlink_to(pathlib.Path(build).resolve())
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BEELINE_")}
    environment["BEELINE_DIR"] = str(folder / "hive")
    environment["TMPDIR"] = str(folder)
    environment["DROVER_MAILBOX_DIR"] = str(folder / "mailbox")
    environment["PATH"] = f"{folder}/tree/build/bin:{os.environ['PATH']}"
    try:
        yield folder / "tree", environment
    finally:
        subprocess.run(
            ["beeline", "down"], env=environment, capture_output=True, check=False, timeout=60
        )
        shutil.rmtree(folder)
