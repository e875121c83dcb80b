"""Adds up which branches of some files were taken; reads an export of llvm-cov on stdin.

    llvm-cov export ... | coverage_sum.py ROOT LIMIT LIMIT_OF_EACH FILE[=LIMIT]...

A branch is one outcome of a condition of the source: each operand of && and || counts by itself.
A condition that the compiler knows beforehand (if constexpr) does not count, nor does the edge of
an exception.
A branch is known by file, line and column, and taken if any program took it, in any instance of a
template.

A branch that only a fault elsewhere in the engine could take is a second defence. It stands on a
line that says so, with the reason:

    if (drained < live) drained = live;  // NEVER: a home adds up to what is in it

Such a line is left out of the sum and listed; if its branches are all taken, the mark is wrong.
Prints a table, the marked lines and the branches that nobody took. Exit 1: all files together below
LIMIT percent, one of them below LIMIT_OF_EACH or the limit that is given with it, a file that was
not seen, or a wrong mark.
"""

import json
import os
import re
import sys
from collections import defaultdict

MARK = re.compile(r"// NEVER: (\S.*)")
# The compiler knows these conditions beforehand and reports them as never asked.
KNOWN = re.compile(r"!?std::is_\w+_v<")


def read(root, wanted):
    """taken[file][(line, column, outcome)] = how often; and the files that were seen."""
    taken = {name: defaultdict(int) for name in wanted}
    seen = set()
    for source in json.load(sys.stdin)["data"][0]["files"]:
        name = os.path.relpath(os.path.realpath(source["filename"]), root)
        if name not in taken:
            continue
        seen.add(name)
        text = lines_of(root, name)
        for line, column, _, _, true, false, *_ in source["branches"]:
            if KNOWN.match(text[line - 1], column - 1) or "if constexpr" in text[line - 1]:
                continue
            taken[name][(line, column, "true")] += true
            taken[name][(line, column, "false")] += false
    return taken, seen


def lines_of(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as source:
        return source.read().splitlines()


def marks_of(root, name):
    """The reason of each marked line."""
    found = ((number, MARK.search(text)) for number, text in enumerate(lines_of(root, name), 1))
    return {number: match.group(1) for number, match in found if match}


def main():
    root = os.path.realpath(sys.argv[1])
    limit, limit_of_each = float(sys.argv[2]), float(sys.argv[3])
    limits = {}
    for word in sys.argv[4:]:
        name, _, own_limit = word.partition("=")
        limits[name] = float(own_limit or limit_of_each)
    wanted = list(limits)
    taken, seen = read(root, wanted)
    unseen = [name for name in wanted if name not in seen]
    if unseen:
        sys.exit(f"coverage: llvm-cov has not seen {', '.join(unseen)}; was it renamed?")
    all_branches = all_taken = 0
    missing, marked, wrong, low = [], [], [], []
    print(f"{'file':34} {'branches':>8} {'taken':>8} {'%':>6}")
    for name in wanted:
        marks = marks_of(root, name)
        counts = {at: count for at, count in taken[name].items() if at[0] not in marks}
        for line, reason in sorted(marks.items()):
            marked.append(f"{name}:{line}: {reason}")
            if all(count for at, count in taken[name].items() if at[0] == line):
                wrong.append(f"{name}:{line}")
        hit = sum(1 for count in counts.values() if count)
        share = 100 * hit / len(counts) if counts else 100.0
        print(f"{name:34} {len(counts):8} {hit:8} {share:6.1f}")
        if share < limits[name]:
            low.append(f"{name} ({share:.1f} %, wanted {limits[name]:.0f} %)")
        all_branches += len(counts)
        all_taken += hit
        missing += [f"{name}:{line}:{column} {outcome}"
                    for (line, column, outcome), count in sorted(counts.items()) if not count]
    share = 100 * all_taken / all_branches
    print(f"{'all':34} {all_branches:8} {all_taken:8} {share:6.1f}")
    print(f"second defences, left out: {len(marked)}", *marked, sep="\n  ")
    print("not taken:", *missing, sep="\n  ")
    if wrong:
        sys.exit(f"coverage: marked NEVER and taken, or no branch: {', '.join(wrong)}; take the "
                 "mark away")
    if share < limit:
        sys.exit(f"coverage: {share:.1f} % of the branches, at least {limit:.0f} % are wanted; "
                 "write tests for those above, or remove what cannot happen")
    if low:
        sys.exit(f"coverage: too little of single files: {', '.join(low)}; write tests for those "
                 "above")


if __name__ == "__main__":
    main()
