"""docs/failure.md names every operation that beeline-killpoints sweeps and every model, and nothing
that does not exist.

    failure_test.py ROOT BEELINE_KILLPOINTS

The name of an operation is `operation/*`, with a star for the part in which several names
differ. A model is `name.pml`, and its mutants are in capitals. The name of a test is a sentence,
`Suite.Sentence` or `Suite.*`; that of a test of ctest, or of a source file of tests, ends in
`_test`. The name of a seeded bug stands behind the word mutant or mutants. No cell of a table says
that it is the same as the one above, because rows may come between.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys


def wrong_operations(text, program):
    names = subprocess.run([program, "--list"], check=True, stdout=subprocess.PIPE, text=True)
    # Names of two operations that meet, or of one that stands while the other runs, are no
    # operations of their own.
    swept = {name.split("/")[0] for name in names.stdout.split() if not re.search(r"[+~]", name)}
    named = set(re.findall(r"`([a-z0-9*-]+)/\*`", text))
    if not swept:
        yield "beeline-killpoints --list names nothing"
    for operation in sorted(swept):
        if not any(fnmatch.fnmatch(operation, name) for name in named):
            yield f"no row for `{operation}/*`: killed there, what is visible, and who mends it?"
    for name in sorted(named):
        if not fnmatch.filter(swept, name):
            yield f"`{name}/*` is swept by nobody"


def wrong_models(root, text):
    models = {path.name: path.read_text(encoding="utf-8")
              for path in (root / "tests/spin").glob("*.pml")}
    named = set(re.findall(r"`(\w+\.pml)`", text))
    for name in sorted(set(models) - named):
        yield f"the model `{name}` proves nothing that stands here"
    for name in sorted(named - set(models)):
        yield f"there is no model `{name}`"
    for model, mutants in re.findall(r"`(\w+\.pml)` \(((?:`[A-Z_]+`(?:, )?)+)\)", text):
        for mutant in re.findall(r"`([A-Z_]+)`", mutants):
            if f"MUTANT_{mutant}" not in models.get(model, ""):
                yield f"`{model}` has no mutant `{mutant}`"


def wrong_tests(root, text):
    paths = [path for path in sorted((root / "tests").rglob("*"))
             if path.suffix in (".cc", ".h") or path.name == "CMakeLists.txt"]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    known = re.findall(r"\b(?:TEST|TEST_F|TEST_P|BEELINE_BOTH_WORLDS)\(\s*(\w+),\s*(\w+)", sources)
    known += [(suite, "") for suite in re.findall(r"RegisterTest\(\"(\w+)\"", sources)]
    programs = set(re.findall(r"(?:beeline_add_test\(|add_test\(NAME )(\w+)", sources))
    programs |= {path.stem for path in paths}
    for suite, name in sorted(set(re.findall(r"`(?:(\w+)\.)?(\*|[A-Z][a-z]*\w*)`", text))):
        is_sentence = name == "*" or len(re.findall(r"[A-Z]", name)) > 3 and not name.isupper()
        if (suite or is_sentence) and not any(
                suite in ("", of) and name in ("*", one) for of, one in known):
            yield f"there is no test `{suite + '.' if suite else ''}{name}`"
    for name in sorted(set(re.findall(r"`(\w+_test)`", text)) - programs):
        yield f"there is no test `{name}`"


def wrong_bugs(root, text):
    table = (root / "tests/mutants/bugs.txt").read_text(encoding="utf-8")
    for names in re.findall(r"\bmutants? ((?:`\w+`(?:, )?)+)", text):
        for name in re.findall(r"`(\w+)`", names):
            if f"\nbug {name}:" not in table:
                yield f"there is no seeded bug `{name}`"


def wrong_cells(text):
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            continue
        for cell in line.strip().strip("|").split("|"):
            if re.match(r" *(the same( *$|[,:;])|likewise\b)", cell):
                yield f"line {number}: \"{cell.strip()}\": write out what stands above"


def main():
    root = pathlib.Path(sys.argv[1])
    text = (root / "docs/failure.md").read_text(encoding="utf-8")
    wrong = [*wrong_operations(text, sys.argv[2]), *wrong_models(root, text),
             *wrong_tests(root, text), *wrong_bugs(root, text), *wrong_cells(text)]
    for line in wrong:
        print(f"docs/failure.md: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
