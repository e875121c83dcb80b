"""Sees descriptors and processes, and tells which have come since: for the plugin of pytest."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

# Servants of the standard library, which stay until the interpreter ends.
_SERVANTS = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")
_PATIENCE = 5.0
_PAUSE = 0.01

Found = dict[int, str]


def descriptors() -> Found:
    """The open descriptors of this process, with a text for each."""
    found: Found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own descriptor
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def children() -> Found:
    """The children of this process, those among them that nobody has waited for."""
    found: Found = {}
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            for pid in Path(f"/proc/self/task/{thread}/children").read_text().split():
                _add_process(found, int(pid))
    return found


def processes_with(variable: str, value: str) -> Found:
    """The other processes whose environment has this variable with this value."""
    wanted = f"{variable}={value}".encode()
    found: Found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    _add_process(found, int(name))
    return found


def is_alive(pid: int) -> bool:
    """Whether this process runs. One that has ended may be unreaped for a while."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def _add_process(found: Found, pid: int) -> None:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0")
        if not any(servant in words for servant in _SERVANTS):
            text = words.replace(b"\0", b" ").decode(errors="replace")
            found[pid] = text or "a process that has ended, and that nobody has waited for"


def new_since(before: Found, look: Callable[[], Found], patience: float = _PATIENCE) -> Found:
    """Everything that `look` finds and that was not in `before`; waits a while for it to go."""
    until = time.monotonic() + patience
    while True:
        found = {key: text for key, text in look().items() if before.get(key) != text}
        if not found or time.monotonic() > until:
            return found
        time.sleep(_PAUSE)


def wait_until(done: Callable[[], bool], patience: float = _PATIENCE) -> bool:
    until = time.monotonic() + patience
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True
