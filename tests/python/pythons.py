"""Finds the Pythons of this machine by their version."""

import shutil
import subprocess

_FACTS = """
import sys, sysconfig
is_free = sysconfig.get_config_var("Py_GIL_DISABLED")
print(sys.implementation.name, *sys.version_info[:2], is_free or 0, sys.executable)
"""


def _candidates(version):
    """Commands that may be this Python: from the PATH, and from pyenv."""
    named = shutil.which(f"python{version}")
    if named:
        yield named
    if not shutil.which("pyenv"):
        return
    listing = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True)
    for name in listing.stdout.split():
        if name.startswith(f"{version}."):
            prefix = subprocess.run(["pyenv", "prefix", name], capture_output=True, text=True)
            if prefix.returncode == 0:
                yield f"{prefix.stdout.strip()}/bin/python{version}"


def find(version):
    """The path of a CPython of the version "3.N" with a GIL, or None."""
    for candidate in _candidates(version):
        try:
            asked = subprocess.run([candidate, "-I", "-c", _FACTS], capture_output=True, text=True)
        except OSError:
            continue
        if asked.returncode == 0:  # pyenv's command fails for a version that is not selected
            name, major, minor, is_free, path = asked.stdout.split(maxsplit=4)
            if name == "cpython" and f"{major}.{minor}" == version and is_free == "0":
                return path.strip()
    return None
