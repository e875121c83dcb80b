#!/usr/bin/env python3
"""Texts for users cite no paper that is not shipped. Usage: papers_test.py SOURCE"""

import pathlib
import re
import sys

# Ids of lists of demands, faults and ideas. Tests may cite them.
PAPER = re.compile(
    r"\b(HK|KO|TW|RT|MB)-\d+|\b[CF]-\d{1,3}\b|\bidea \d+\b|\b[AD]\d{1,2}\b"
)
READ_BY_USERS = ("*.md", "docs/**/*", "include/**/*", "tools/**/*", "examples/*", "systemd/*")


def main():
    root = pathlib.Path(sys.argv[1])
    files = {file for pattern in READ_BY_USERS for file in root.glob(pattern) if file.is_file()}
    wrong = 0
    for file in sorted(files):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for found in PAPER.finditer(line):
                print(f"{file.relative_to(root)}:{number}: cites {found.group()}")
                wrong += 1
    print(f"papers: {len(files)} files, {wrong} faults")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
