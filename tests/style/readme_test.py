"""The example in README.md is the one that the tests compile and run."""

import pathlib
import sys


def main():
    root = pathlib.Path(sys.argv[1])
    readme = (root / "README.md").read_text(encoding="utf-8")
    example = (root / "examples/first.cc").read_text(encoding="utf-8").rstrip()
    if "```cpp\n" + example + "\n```" not in readme:
        print("README.md: its C++ example differs from examples/first.cc; copy the file into it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
