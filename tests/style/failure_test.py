"""docs/failure.md names every operation that beeline-killpoints sweeps, and no other.

    failure_test.py ROOT BEELINE_KILLPOINTS

A name is `operation/*`, with a star for whatever the names of some operations share.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys


def main():
    text = (pathlib.Path(sys.argv[1]) / "docs/failure.md").read_text(encoding="utf-8")
    names = subprocess.run([sys.argv[2], "--list"], check=True, stdout=subprocess.PIPE, text=True)
    # Two operations that meet, and one that stands while the other runs, are swept one by one too.
    swept = {name.split("/")[0] for name in names.stdout.split() if not re.search(r"[+~]", name)}
    named = set(re.findall(r"`([a-z0-9*-]+)/\*`", text))
    wrong = [f"no row for `{operation}/*`: killed there, what is visible, and who mends it?"
             for operation in sorted(swept)
             if not any(fnmatch.fnmatch(operation, name) for name in named)]
    wrong += [f"`{name}/*` is swept by nobody" for name in sorted(named)
              if not fnmatch.filter(swept, name)]
    for line in wrong:
        print(f"docs/failure.md: {line}")
    return 1 if wrong or not swept else 0


if __name__ == "__main__":
    sys.exit(main())
