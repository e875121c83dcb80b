"""Installs the Python package into a fresh environment without a network, and uses it there.

Usage: wheel_test.py SOURCE BUILD SCRATCH

The wheel takes the binaries of the build. With BEELINE_SOAK=1 it is compiled, once from the tree
and once, by another front end, from the source distribution."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE, BUILD, SCRATCH = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = SOURCE / "bindings" / "python"
CORE = "_core.abi3.so"
IS_LONG = os.environ.get("BEELINE_SOAK") == "1"


def clean_environment(**more):
    """Nothing of it leads to the build tree."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(*words, environment=None, **options):
    done = subprocess.run(
        [str(word) for word in words],
        env=environment or clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    if done.returncode != 0:
        raise AssertionError(f"{words} exits with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def build_environment():
    return clean_environment(**({} if IS_LONG else {"BEELINE_BUILD_DIR": str(BUILD)}))


class Environment:
    """A virtual environment without any package but pip."""

    def __init__(self, name):
        self.folder = SCRATCH / name
        shutil.rmtree(self.folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", self.folder)
        self.bin = self.folder / "bin"

    def pip(self, *words, environment=None):
        common = ("--disable-pip-version-check", "--no-cache-dir")
        return run(self.bin / "pip", *words, *common, environment=environment)

    def packages(self):
        return next(self.folder.glob("lib/python3*/site-packages"))


class Wheel(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="beeline-")
        self.addCleanup(self.place.cleanup)
        self.hive = clean_environment(BEELINE_DIR=self.place.name)

    def check_that_it_works(self, environment):
        beeline = environment.bin / "beeline"
        header = (SOURCE / "include/beeline/version.h").read_text()
        version = re.search('kVersion = "(.*)"', header).group(1)
        self.assertIn(version, run(beeline, "--version", environment=self.hive))
        self.assertIn(f"beeline-ipc {version}", " ".join(environment.pip("list").split()))
        try:
            said = run(environment.bin / "python", HERE / "talk.py", environment=self.hive)
            self.assertEqual(said, "6 * 7 = 42\n")
            said = run(environment.bin / "python", HERE / "family.py", environment=self.hive)
            self.assertEqual(said, "exit 0\n", "a child of the steward")
            status = run(beeline, "status", environment=self.hive)
            self.assertIn("0 quarantined", status)
        finally:
            run(beeline, "down", environment=self.hive)

    def test_a_fresh_environment_needs_no_network(self):
        environment = Environment("fresh")
        environment.pip("install", "--no-index", PACKAGE, environment=build_environment())
        self.check_that_it_works(environment)
        package = environment.packages() / "beeline"
        self.assertTrue((package / "py.typed").exists())
        for program in ("beeline", "beelined", "beeline-steward"):
            self.assertTrue(os.access(package / "bin" / program, os.X_OK), program)
        symbols = run("nm", "--dynamic", "--defined-only", "--just-symbols", package / CORE)
        self.assertEqual(symbols, "PyInit__core\n", "the extension shows more than its entry")

        for extra in sorted((PACKAGE / "extras").iterdir()):
            with self.subTest(extra.name):
                environment.pip("install", "--no-index", extra, environment=clean_environment())
        environment.pip("check")
        environment.pip("uninstall", "--yes", "beeline-ipc")
        self.assertFalse(package.exists(), "pip leaves a part of the package")

        if not IS_LONG:  # its build would stay in the tree
            self.check_editable(environment)

    def check_editable(self, environment):
        environment.pip("install", "--no-index", "-e", PACKAGE, environment=build_environment())
        self.check_that_it_works(environment)
        where = "import beeline, os; print(os.path.realpath(beeline.__file__))"
        found = run(environment.bin / "python", "-c", where, cwd=self.place.name)
        self.assertEqual(found.strip(), str(PACKAGE / "src/beeline/__init__.py"))

    def test_a_missing_build_is_named(self):
        nowhere = clean_environment(
            BEELINE_BUILD_DIR=self.place.name, PYTHONPATH=str(PACKAGE / "backend")
        )
        call = f"import beeline_backend; beeline_backend.build_wheel({self.place.name!r})"
        with self.assertRaisesRegex(AssertionError, "_core.abi3.so is missing: build the target"):
            run(sys.executable, "-c", call, environment=nowhere, cwd=PACKAGE)
        self.assertEqual(os.listdir(self.place.name), [], "a half wheel is left")

    def test_another_front_end_builds_both_distributions(self):
        if not IS_LONG:
            self.skipTest("it compiles everything: BEELINE_SOAK=1")
        out = pathlib.Path(self.place.name, "dist")
        run(sys.executable, "-m", "build", "--outdir", out, PACKAGE)
        self.assertEqual(len(list(out.glob("beeline_ipc-*.tar.gz"))), 1)
        wheel = next(out.glob("beeline_ipc-*-cp311-abi3-linux_*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            binaries = [archive.extract(name, self.place.name) for name in archive.namelist()
                        if name.endswith(".so") or "/bin/" in name]  # fmt: skip
        self.assertEqual(len(binaries), 4)
        others = r"\[lib(?!c\.|m\.|pthread\.|dl\.|rt\.).*\]"
        for binary in binaries:
            needed = run("readelf", "--dynamic", "--wide", binary)
            self.assertNotRegex(needed, others, "a wheel needs no library of the distribution")
        environment = Environment("built")
        environment.pip("install", "--no-index", wheel)
        self.check_that_it_works(environment)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
