"""Builds the distribution beeline-ipc, and pure ones below its folder: the hooks of PEP 517 and
PEP 660, with no requirements.

A wheel comes from a build of the C++ tree around this folder, which takes a minute or two. The
setting `build-dir` (`pip install --config-settings build-dir=DIR`), or $BEELINE_BUILD_DIR, names a
build that is there already: its files go into the wheel as they are."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Mapping

from beeline_backend import native, project, sdist, wheel

Settings = Mapping[str, object] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return []


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return []


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return []


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    folder = pathlib.Path(metadata_directory, project.dist_info())
    project.write_dist_info(folder)
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    with wheel.Wheel(pathlib.Path(wheel_directory)) as archive:
        archive.add_package(project.sources())
        if not project.is_pure():
            _add_binaries(archive, config_settings)
        return archive.name


def _add_binaries(archive: wheel.Wheel, settings: Settings) -> None:
    with tempfile.TemporaryDirectory(prefix="beeline-wheel-") as scratch:
        build = native.finished_build(settings)
        if build is None:
            build = native.make_build(pathlib.Path(scratch, "build"), keep=False)
        for place, file in native.binaries(build).items():
            archive.add(place, native.stripped(file, pathlib.Path(scratch)), executable=True)


def build_editable(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """A wheel that points to the sources, or to their links in the folder `python` of a build."""
    with wheel.Wheel(pathlib.Path(wheel_directory)) as archive:
        folder = project.sources()
        if not project.is_pure():
            build = native.finished_build(config_settings)
            if build is None:
                build = native.make_build(project.ROOT / "build-python", keep=True)
            native.binaries(build)
            folder = build / "python"
        archive.add_bytes(f"{project.base_name()}.pth", f"{folder}\n".encode())
        return archive.name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    if project.is_pure():
        raise SystemExit("this distribution is built from the repository only: build a wheel")
    return sdist.write(pathlib.Path(sdist_directory))
