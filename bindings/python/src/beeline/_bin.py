"""The programs that a wheel carries in beeline/bin: the coordinator `beelined`, the steward
`beeline-steward`, and `beeline`."""

from __future__ import annotations

import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def use_own_programs() -> None:
    """Lets this process and its children start the coordinator of the wheel.

    A folder that $BEELINE_BIN names already stays. Without a folder of ours, as in a package of the
    system, the installed coordinator or the one in the PATH is started."""
    if os.access(os.path.join(FOLDER, "beelined"), os.X_OK):
        os.environ.setdefault("BEELINE_BIN", FOLDER)


def main() -> None:
    """The command `beeline`: becomes the program of the wheel."""
    program = os.path.join(FOLDER, "beeline")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"beeline: cannot run {program}: {error.strerror}; install beeline-ipc again")
