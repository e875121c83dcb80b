"""The extension and the programs: finds them in a build that is there, or makes one by CMake."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Mapping

from beeline_backend import project

_TARGET = "beeline-python"
# The place of each binary in the wheel, and in a build.
_BINARIES = {
    "beeline/_core.abi3.so": "python/beeline/_core.abi3.so",
    "beeline/bin/beeline": "bin/beeline",
    "beeline/bin/beeline-steward": "bin/beeline-steward",
    "beeline/bin/beelined": "bin/beelined",
}


def finished_build(settings: Mapping[str, object] | None) -> pathlib.Path | None:
    """The build that the caller names, or None."""
    named = (settings or {}).get("build-dir") or os.environ.get("BEELINE_BUILD_DIR")
    return pathlib.Path(str(named)).resolve() if named else None


def binaries(build: pathlib.Path) -> dict[str, pathlib.Path]:
    found = {place: build / file for place, file in _BINARIES.items()}
    for file in found.values():
        if not file.is_file():
            raise SystemExit(
                f"{file} is missing: build the target {_TARGET} first, with BEELINE_STEWARD=ON"
            )
    return found


def make_build(folder: pathlib.Path, keep: bool) -> pathlib.Path:
    """Configures and builds what the package needs, with the interpreter that runs us."""
    cmake = shutil.which("cmake")
    if cmake is None:
        raise SystemExit("cmake is missing; scripts/setup installs all that a build needs")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run([
        cmake, *generator, "-S", str(project.ROOT), "-B", str(folder),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_UNITY_BUILD={'OFF' if keep else 'ON'}",
        "-DBEELINE_BUILD_PYTHON=ON",
        f"-DBEELINE_PYTHON={sys.executable}",
        "-DBEELINE_SELF_CONTAINED=ON",
        "-DBEELINE_STEWARD=ON",
        "-DBEELINE_BUILD_TOOLS=ON",
        "-DBEELINE_BUILD_BENCH=OFF",
        "-DBEELINE_BUILD_TESTS=OFF",
    ])  # fmt: skip
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(len(os.sched_getaffinity(0)))
    run([cmake, "--build", str(folder), "--target", _TARGET, "--parallel", jobs])
    return folder


def run(command: list[str]) -> None:
    try:
        # A hook may print to its standard output only.
        subprocess.run(command, check=True, stderr=subprocess.STDOUT)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{command[0]} failed with {error.returncode}, see above") from None


def stripped(file: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """A copy without the line numbers, which are most of it; the file itself without `strip`."""
    strip = shutil.which("strip")
    if strip is None:
        return file
    copy = scratch / file.name
    run([strip, "--strip-unneeded", "-o", str(copy), str(file)])
    return copy
