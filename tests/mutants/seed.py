#!/usr/bin/env python3
"""Puts the seeded bugs of bugs.txt into a copy of the sources.

    seed.py ROOT              only says whether every anchor is found
    seed.py ROOT OUT FILE...  copies FILE... of ROOT to OUT, with the bugs in them, and writes
                              OUT/bugs.inc: the table of the bugs

A file that would not change is not written, so that nothing that needs it is compiled again. Exit 1
if an anchor is missing, stands there twice, or is replaced by two bugs.
"""

import collections
import dataclasses
import pathlib
import re
import sys

LIST = "tests/mutants/bugs.txt"
COMMENT = re.compile(r"(^|\s+)//.*$")


@dataclasses.dataclass
class Edit:
    """One place of a bug: anchors and added lines in their order, as (kind, line)."""

    place: str
    number: int
    lines: list = dataclasses.field(default_factory=list)

    def anchors(self):
        return [line for kind, line in self.lines if kind != "+"]


@dataclasses.dataclass
class Bug:
    name: str
    caught: str = ""
    fuzzed: str = ""
    is_long: bool = False
    edits: list = dataclasses.field(default_factory=list)


def read_bugs(path):
    bugs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        kind, _, rest = line.partition(" ")
        if not line or kind == "#":
            continue
        if kind == "bug":
            bugs.append(Bug(rest.partition(":")[0]))
        elif kind in ("caught", "fuzzed"):
            setattr(bugs[-1], kind, rest)
        elif kind == "long":
            bugs[-1].is_long = True
        elif kind == "in":
            bugs[-1].edits.append(Edit(rest, number))
        elif kind in ("|", "-", "+"):
            bugs[-1].edits[-1].lines.append((kind, rest.strip()))
        else:
            sys.exit(f"{path}:{number}: no such word: {kind}")
    return bugs


def code_of(text):
    """Number and text of each line that is more than a comment."""
    stripped = ((at, COMMENT.sub("", line).strip()) for at, line in enumerate(text.splitlines()))
    return [(at, line) for at, line in stripped if line]


class Sources:
    def __init__(self, root):
        self.root = root
        self.code = {}

    def files_of(self, place):
        path = self.root / place
        if path.is_dir():
            return [str(file.relative_to(self.root)) for file in sorted(path.rglob("*"))
                    if file.suffix in (".h", ".cc")]
        return [place] if path.is_file() else []

    def find(self, edit):
        """Each (file, the lines of the anchors) where they follow each other."""
        anchors = edit.anchors()
        for name in self.files_of(edit.place):
            if name not in self.code:
                self.code[name] = code_of((self.root / name).read_text(encoding="utf-8"))
            code = self.code[name]
            for first in range(len(code) - len(anchors) + 1):
                found = code[first:first + len(anchors)]
                if [line for _, line in found] == anchors:
                    yield name, [at for at, _ in found]


class Seeds:
    """The lines to add and to leave out, file by file."""

    def __init__(self):
        self.before = collections.defaultdict(lambda: collections.defaultdict(list))
        self.after = collections.defaultdict(lambda: collections.defaultdict(list))
        self.replaced = collections.defaultdict(set)

    def add(self, edit, name, places, switch):
        """Puts the edit where its anchors are. The line that two bugs replace, if there is one."""
        left = iter(places)
        last = None
        for kind, line in edit.lines:
            if kind != "+":
                last = next(left)
            if kind == "-":
                if last in self.replaced[name]:
                    return line
                self.replaced[name].add(last)
            if kind == "+":
                line = re.sub(r"\bBUG\b", switch, line)
                where = self.after[name][last] if last is not None else self.before[name][places[0]]
                where.append(line)
        return None

    def apply(self, name, text):
        lines = []
        for at, line in enumerate(text.splitlines()):
            lines += self.before[name][at]
            if at not in self.replaced[name]:
                lines.append(line)
            lines += self.after[name][at]
        return "\n".join(lines) + "\n"


def seed(sources, bugs):
    seeds = Seeds()
    wrong = []
    for number, bug in enumerate(bugs, 1):
        for edit in bug.edits:
            found = list(sources.find(edit))
            where = f"{LIST}:{edit.number}: {bug.name}"
            if len(found) != 1:
                how = f"{len(found)} times" if found else "not"
                wrong.append(f"{where}: found {how} in {edit.place}: {' ⏎ '.join(edit.anchors())}")
                continue
            line = seeds.add(edit, *found[0], f"::beeline::mutants::has_bug({number})")
            if line is not None:
                wrong.append(f"{where}: another bug replaces this line: {line}")
        if not (bug.caught and bug.edits):
            wrong.append(f"{LIST}: {bug.name}: a bug needs a test and a place")
    if wrong:
        sys.exit("\n".join(wrong))
    return seeds


def write(path, text):
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    root = pathlib.Path(sys.argv[1])
    bugs = read_bugs(root / LIST)
    seeds = seed(Sources(root), bugs)
    if len(sys.argv) == 2:
        print(f"{len(bugs)} bugs can be seeded")
        return
    out = pathlib.Path(sys.argv[2])
    unseen = set(seeds.after) | set(seeds.before)
    for name in sys.argv[3:]:
        write(out / name, seeds.apply(name, (root / name).read_text(encoding="utf-8")))
        unseen.discard(name)
    if unseen:
        sys.exit(f"{LIST}: bugs in files that are not copied: {', '.join(sorted(unseen))}")
    rows = (f'SeededBug{{{number}, "{bug.name}", "{bug.caught}", "{bug.fuzzed}", '
            f'{str(bug.is_long).lower()}}},\n' for number, bug in enumerate(bugs, 1))
    write(out / "bugs.inc", "".join(rows))


if __name__ == "__main__":
    main()
