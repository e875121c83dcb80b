"""Adds up what gcov says of the branches of some files: JSON of one object a line, from stdin.

    coverage_sum.py ROOT LIMIT FILE...

A branch is known by file, line and number; it is taken if any object took it. Templates and inline
functions appear once for each instance in an object: their branches are joined by the line. Prints
a table and the branches that nobody took. Exit 1: below LIMIT percent, or a file was not seen.
"""

import json
import os
import sys
from collections import defaultdict


def read(root, wanted):
    """taken[file][(line, number)] = how often; and the files that were seen."""
    taken = {name: defaultdict(int) for name in wanted}
    seen = set()
    for text in sys.stdin:
        if not text.startswith("{"):
            continue
        report = json.loads(text)
        folder = report.get("current_working_directory", root)
        for source in report["files"]:
            path = os.path.relpath(os.path.realpath(os.path.join(folder, source["file"])), root)
            if path not in taken:
                continue
            seen.add(path)
            for line in source["lines"]:
                number = 0
                for branch in line["branches"]:
                    if branch["throw"]:
                        continue
                    taken[path][(line["line_number"], number)] += branch["count"]
                    number += 1
    return taken, seen


def main():
    root, limit, wanted = os.path.realpath(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    taken, seen = read(root, wanted)
    all_branches = all_taken = 0
    missing = []
    print(f"{'file':34} {'branches':>8} {'taken':>8} {'%':>6}")
    for name in wanted:
        counts = taken[name]
        hit = sum(1 for count in counts.values() if count)
        share = 100 * hit / len(counts) if counts else 100.0
        print(f"{name:34} {len(counts):8} {hit:8} {share:6.1f}")
        all_branches += len(counts)
        all_taken += hit
        missing += [f"{name}:{line}" for (line, _), count in sorted(counts.items()) if not count]
    unseen = [name for name in wanted if name not in seen]
    if unseen:
        sys.exit(f"coverage: gcov has not seen {', '.join(unseen)}; was it renamed, or was the "
                 "build made without --coverage?")
    share = 100 * all_taken / all_branches
    print(f"{'all':34} {all_branches:8} {all_taken:8} {share:6.1f}")
    print("not taken:", *missing, sep="\n  ")
    if share < limit:
        sys.exit(f"coverage: {share:.1f} % of the branches, at least {limit:.0f} % are wanted; "
                 "write tests for those above, or remove what cannot happen")


if __name__ == "__main__":
    main()
