"""Runs the tests of the Python package from the build tree.

Usage: run_pytest.py SOURCE BUILD PYTHON [ARGUMENT...]

An argument with a `*` names the files in bindings/python that it matches. `--brief=FILE` names a
file of the short form: with such arguments all files run only if BEELINE_SOAK=1. PYTHON is a path,
or a version such as 3.12: then a Python of that version runs the tests, with the pytest of the
Python that runs this script if it has none of its own. A version that is not here is said to be
not tried.
Exits with 77 if a test was skipped and none failed."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import pythons

SKIPPED = 77
# pytest and the modules that it stands on, all of them without extensions.
PYTEST = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "attrs", "py")


def borrow_pytest(folder):
    """Links our pytest into `folder`, for a Python of another version."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PYTEST:
        found = importlib.util.find_spec(name)
        if found is None or not found.origin:
            continue
        place = pathlib.Path(found.origin)
        place = place.parent if place.name == "__init__.py" else place
        link = folder / place.name
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(place)


def has_pytest(python):
    return subprocess.run([python, "-c", "import pytest"], capture_output=True).returncode == 0


def expanded(argument, home):
    if "*" not in argument or argument.startswith("-"):
        return [argument]
    found = sorted(str(path.relative_to(home)) for path in home.glob(argument))
    if not found:
        raise SystemExit(f"run_pytest.py: no file matches {argument}")
    return found


def skipped_tests(report):
    """(name, reason) of each."""
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        for skip in case.iter("skipped"):
            yield f"{case.get('classname')}.{case.get('name')}", skip.get("message", "")


def main():
    source, build, python, *arguments = sys.argv[1:]
    build = pathlib.Path(build).resolve()
    version = python if python[:1].isdigit() else ""
    if version and not (python := pythons.find(version)):
        print(f"NOT TRIED python{version}: it is not installed")
        return 0

    scratch = build / "python-tests"
    scratch.mkdir(exist_ok=True)
    path = [str(build / "python")]
    options = ["-q", "-rf", "-p", "beeline.pytest_plugin", "-o", "faulthandler_timeout=100"]
    if not has_pytest(python):
        borrow_pytest(scratch / "pytest")
        path.append(str(scratch / "pytest"))
        # An old pytest rewrites assertions in a way that a new Python does not know.
        options.append("--assert=plain")
    home = pathlib.Path(source, "bindings", "python")
    brief = [argument[8:] for argument in arguments if argument.startswith("--brief=")]
    arguments = [argument for argument in arguments if not argument.startswith("--brief=")]
    arguments += [] if os.environ.get("BEELINE_SOAK") == "1" else brief
    arguments = [word for argument in arguments for word in expanded(argument, home)]
    report = scratch / f"report-{os.getpid()}.xml"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "BEELINE_BIN": str(build / "bin"),
        "PYTHONDONTWRITEBYTECODE": "1",
        # Plugins that happen to be installed.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        [python, "-m", "pytest", *options, f"--junit-xml={report}", *arguments],
        cwd=home,
        env=environment,
    )
    if done.returncode != 0:
        return done.returncode
    skipped = list(skipped_tests(report))
    report.unlink()
    for name, reason in skipped:
        word = f"NOT TRIED python{version}" if version else "SKIP"
        print(f"{word} {name}: {reason}")
    return SKIPPED if skipped and not version else 0


if __name__ == "__main__":
    sys.exit(main())
