"""The facts about the distribution, from pyproject.toml and version.h, as packaging tools read
them."""

from __future__ import annotations

import pathlib
import re
import sysconfig
import tomllib
from typing import Any

# The folder with pyproject.toml, and the C++ tree around it. A source distribution has the same
# folders.
PYTHON = pathlib.Path(__file__).resolve().parents[2]
ROOT = PYTHON.parents[1]
SOURCES = PYTHON / "src"

_KEYS = {
    "name", "dynamic", "description", "readme", "requires-python", "license", "keywords",
    "classifiers", "scripts", "entry-points",
}  # fmt: skip


def table() -> dict[str, Any]:
    """The table [project]."""
    with open(PYTHON / "pyproject.toml", "rb") as file:
        found: dict[str, Any] = tomllib.load(file)["project"]
    if unknown := sorted(set(found) - _KEYS):
        raise SystemExit(f"pyproject.toml: the backend does not know: {', '.join(unknown)}")
    return found


def version() -> str:
    header = (ROOT / "include" / "beeline" / "version.h").read_text(encoding="utf-8")
    found = re.search(r'kVersion = "([^"]+)"', header)
    if found is None:
        raise SystemExit("include/beeline/version.h: kVersion is missing")
    return found.group(1)


def base_name() -> str:
    """The first part of each file name: beeline_ipc-0.1.0."""
    name: str = table()["name"]
    return f"{name.replace('-', '_')}-{version()}"


def dist_info() -> str:
    return f"{base_name()}.dist-info"


def tag() -> str:
    """One extension for each CPython from 3.11 on, on machines like this one."""
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"cp311-abi3-{platform}"


def metadata() -> str:
    """The file METADATA, which is PKG-INFO of a source distribution."""
    facts = table()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {facts['name']}",
        f"Version: {version()}",
        f"Summary: {facts['description']}",
        f"License: {facts['license']['text']}",
        f"Keywords: {','.join(facts['keywords'])}",
        *(f"Classifier: {classifier}" for classifier in facts["classifiers"]),
        f"Requires-Python: {facts['requires-python']}",
        "Description-Content-Type: text/markdown",
    ]
    page: str = facts["readme"]
    return "\n".join(lines) + "\n\n" + (PYTHON / page).read_text(encoding="utf-8")


def entry_points() -> str:
    facts = table()
    groups = {"console_scripts": facts["scripts"], **facts["entry-points"]}
    parts = []
    for group, entries in groups.items():
        rows = "".join(f"{name} = {target}\n" for name, target in entries.items())
        parts.append(f"[{group}]\n{rows}")
    return "\n".join(parts)


def wheel_facts() -> str:
    return f"Wheel-Version: 1.0\nGenerator: beeline_backend\nRoot-Is-Purelib: false\nTag: {tag()}\n"


def dist_info_files() -> dict[str, bytes]:
    """Each file of the folder .dist-info but RECORD."""
    return {
        "METADATA": metadata().encode(),
        "WHEEL": wheel_facts().encode(),
        "entry_points.txt": entry_points().encode(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
    }


def write_dist_info(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in dist_info_files().items():
        (folder / name).write_bytes(content)
