"""Writes a wheel: a zip archive with the package, its dist-info, and the digests in RECORD."""

from __future__ import annotations

import base64
import hashlib
import pathlib
import types
import zipfile
from typing import Self

from beeline_backend import project

# The same sources give the same archive.
_DATE = (1980, 1, 1, 0, 0, 0)
_SUFFIXES = (".py", ".pyi")


class Wheel:
    """A context manager. The archive gets its name when all went well."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.name = f"{project.base_name()}-{project.tag()}.whl"
        self._path = folder / self.name
        self._part = folder / (self.name + ".part")
        self._archive = zipfile.ZipFile(self._part, "w", zipfile.ZIP_DEFLATED)
        self._records: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._archive.close()
        if kind is None:
            self._part.rename(self._path)
        else:
            self._part.unlink()

    def _finish(self) -> None:
        for name, content in project.dist_info_files().items():
            self.add_bytes(f"{project.dist_info()}/{name}", content)
        place = f"{project.dist_info()}/RECORD"
        self._records.append(f"{place},,")
        self._write(place, "".join(f"{row}\n" for row in self._records).encode(), 0o644)

    def add_bytes(self, place: str, content: bytes, mode: int = 0o644) -> None:
        self._write(place, content, mode)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._records.append(f"{place},sha256={digest},{len(content)}")

    def add(self, place: str, file: pathlib.Path, executable: bool = False) -> None:
        self.add_bytes(place, file.read_bytes(), 0o755 if executable else 0o644)

    def add_package(self, sources: pathlib.Path) -> None:
        """Each module below `sources`, and the mark that they are typed."""
        for file in sorted(sources.rglob("*")):
            if file.is_file() and (file.suffix in _SUFFIXES or file.name == "py.typed"):
                self.add(file.relative_to(sources).as_posix(), file)

    def _write(self, place: str, content: bytes, mode: int) -> None:
        info = zipfile.ZipInfo(place, _DATE)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(info, content)
