"""Writes the source distribution: this folder, and the C++ tree that it is built from."""

from __future__ import annotations

import gzip
import io
import os
import pathlib
import tarfile

from beeline_backend import project

_PARTS = (
    "CMakeLists.txt", "LICENSE", "README.md", "bindings/python", "cmake", "examples", "include",
    "man", "shm", "src", "systemd", "tools",
)  # fmt: skip
_NOT_TAKEN = {"__pycache__", "build", "dist", "extras", "tests"}


def write(folder: pathlib.Path) -> str:
    base = project.base_name()
    name = f"{base}.tar.gz"
    tree = io.BytesIO()
    with tarfile.open(fileobj=tree, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, f"{base}/PKG-INFO", project.metadata().encode())
        _add(archive, f"{base}/pyproject.toml", _outer_pyproject().encode())
        for file in _files():
            place = f"{base}/{file.relative_to(project.ROOT).as_posix()}"
            _add(archive, place, file.read_bytes(), os.access(file, os.X_OK))
    with open(folder / name, "wb") as out:
        with gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=0) as packed:
            packed.write(tree.getvalue())
    return name


def _files() -> list[pathlib.Path]:
    found = []
    for part in _PARTS:
        path = project.ROOT / part
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            names = set(file.relative_to(path).parts)
            hidden = any(name.startswith(".") for name in names)
            if file.is_file() and not hidden and not names & _NOT_TAKEN:
                found.append(file)
    return found


def _outer_pyproject() -> str:
    """pyproject.toml for the root of the archive, from where the backend lies elsewhere."""
    text = (project.PYTHON / "pyproject.toml").read_text(encoding="utf-8")
    inner = 'backend-path = ["backend"]'
    if inner not in text:
        raise SystemExit(f"pyproject.toml: this line is missing: {inner}")
    place = project.PYTHON.relative_to(project.ROOT).as_posix()
    return text.replace(inner, f'backend-path = ["{place}/backend"]')


def _add(archive: tarfile.TarFile, place: str, content: bytes, executable: bool = False) -> None:
    entry = tarfile.TarInfo(place)
    entry.size = len(content)
    entry.mode = 0o755 if executable else 0o644
    archive.addfile(entry, io.BytesIO(content))
