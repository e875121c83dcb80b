"""The facts about a distribution, from its pyproject.toml and version.h, as packaging tools read
them. The hooks run in the folder of pyproject.toml: bindings/python, or a folder below it with a
distribution that has no binaries."""

from __future__ import annotations

import pathlib
import re
import sysconfig
import tomllib
from collections.abc import Iterator
from typing import Any

# The folder of this backend's own distribution, and the C++ tree around it. A source distribution
# has the same folders below its root.
PYTHON = pathlib.Path(__file__).resolve().parents[2]
ROOT = PYTHON.parents[1]

_KEYS = {
    "name", "dynamic", "description", "readme", "requires-python", "license", "keywords",
    "classifiers", "dependencies", "optional-dependencies", "scripts", "entry-points",
}  # fmt: skip


def home() -> pathlib.Path:
    """The folder of the distribution that is built."""
    here = pathlib.Path.cwd()
    return PYTHON if here == ROOT or not (here / "pyproject.toml").exists() else here


def sources() -> pathlib.Path:
    return home() / "src"


def _document() -> dict[str, Any]:
    with open(home() / "pyproject.toml", "rb") as file:
        return tomllib.load(file)


def is_pure() -> bool:
    """Whether it has no binaries."""
    return bool(_document().get("tool", {}).get("beeline-backend", {}).get("pure", False))


def table() -> dict[str, Any]:
    """The table [project]."""
    found: dict[str, Any] = _document()["project"]
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
    if is_pure():
        return "py3-none-any"
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
        *(f"Requires-Dist: {other}" for other in facts.get("dependencies", ())),
        *_extras(facts.get("optional-dependencies", {})),
        "Description-Content-Type: text/markdown",
    ]
    page: str = facts["readme"]
    return "\n".join(lines) + "\n\n" + (home() / page).read_text(encoding="utf-8")


def _extras(extras: dict[str, list[str]]) -> Iterator[str]:
    for extra, others in extras.items():
        yield f"Provides-Extra: {extra}"
        yield from (f'Requires-Dist: {other}; extra == "{extra}"' for other in others)


def entry_points() -> str:
    facts = table()
    groups = {"console_scripts": facts.get("scripts", {}), **facts.get("entry-points", {})}
    parts = []
    for group, entries in groups.items():
        if not entries:
            continue
        rows = "".join(f"{name} = {target}\n" for name, target in entries.items())
        parts.append(f"[{group}]\n{rows}")
    return "\n".join(parts)


def wheel_facts() -> str:
    purelib = "true" if is_pure() else "false"
    return (
        "Wheel-Version: 1.0\nGenerator: beeline_backend\n"
        f"Root-Is-Purelib: {purelib}\nTag: {tag()}\n"
    )


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
