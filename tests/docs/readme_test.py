#!/usr/bin/env python3
"""Runs the commands of README.md and of other documents, and compares their output.
Usage: readme_test.py SOURCE BUILD [DOCUMENT...]; the build lacks what these documents show, so they
are left out.

Each document has a hive of its own. The kinds of its fenced blocks:
- `console` is a session. The commands after `$ ` are run, all blocks in one hive and each in one
  shell, and the output must be the one in the block. Numbers, times and widths of columns are
  masked; a line `...` stands for any lines.
- `sh` has commands for the reader's own machine: a `make` must name a target of the Makefile.
- `cpp` and `python` are lines of an example, letter by letter; the tests build and run it.
- `text` is a picture. There are no other kinds."""

import pathlib
import re
import subprocess
import sys

import scratch

DOCUMENTS = (
    "README.md",
    "docs/buffer.md",
    "docs/history.md",
    "docs/python.md",
    "docs/exchange.md",
    "docs/spool.md",
    "docs/steward.md",
)
MAX_LINES = 120  # of README.md
MAX_WORDS = 1000
END = "-- the block has ended --"
EXAMPLES = {
    "cpp": ("examples/*.cc",),
    "python": ("examples/*.py", "bindings/python/examples/*.py"),
}


def blocks(text):
    """Yields (language, text of the block)."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield match.group(1), match.group(2)


def masked(line, environment):
    line = line.replace(environment["BEELINE_DIR"], "/run/user/1000/beeline/default")
    line = re.sub(r"\d[\d,.:]*", "#", line)
    line = re.sub(r"# (ns|us|ms|s|min|h)\b", "# time", line)
    return re.sub(r"\s+", " ", line).strip()


def fits(expected, found):
    """Whether the lines are equal, where `...` in the former stands for any lines."""
    if not expected:
        return not found
    if expected[0] == "...":
        return any(fits(expected[1:], found[i:]) for i in range(len(found) + 1))
    return bool(found) and expected[0] == found[0] and fits(expected[1:], found[1:])


def script_of(lines):
    """The commands of a session. A reader types slower than an agent records the end of a message
    that it has answered; a script has to wait for that row before it kills the agent."""
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    if not any(command.startswith("beeline history on") for command in commands):
        return "\n".join(commands)
    wait = 'until [[ $(beeline log {}) == *" done "* ]]; do sleep 0.01; done\n'
    return "\n".join(
        "".join(wait.format(agent) for agent in re.findall(r"^kill -9 \$(\w+)", command)) + command
        for command in commands
    )


def run_session(name, block, tree, environment):
    """The fault of a `console` block, or nothing."""
    lines = block.splitlines()
    script = script_of(lines)
    # A job that is killed is mentioned on the shell's own stderr, here and in no other words there.
    script += f"\necho {END}; kill $(jobs -p) 2>/dev/null; wait\n"
    # The command ends by itself, also if one of the block waits for ever.
    done = subprocess.run(
        ["timeout", "--kill-after=5", "60", "bash", "-c", "exec 2>&1\n" + script],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    printed = done.stdout.partition(END + "\n")[0].splitlines()
    printed = [line for line in printed if not re.match(r"bash: line \d+: ", line)]
    expected = [masked(s, environment) for s in lines if not s.startswith("$ ")]
    found = [masked(s, environment) for s in printed]
    if fits([s for s in expected if s], [s for s in found if s]):
        return None
    return f"{name} shows\n" + block + "and this was printed:\n" + done.stdout


def check_sample(name, patterns, block, source):
    for pattern in patterns:
        for file in sorted(pathlib.Path(source).glob(pattern)):
            if block in file.read_text(encoding="utf-8"):
                return None
    return f"{name} has this, and no file {' or '.join(patterns)} has it:\n{block}"


def check_commands(name, block, source):
    makefile = pathlib.Path(source, "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", block, re.MULTILINE):
        if not re.search(rf"^{target}:", makefile, re.MULTILINE):
            return f"{name} says `make {target}`, and the Makefile has no such target"
    return None


def check_block(name, language, block, source, tree, environment):
    if language == "console":
        return run_session(name, block, tree, environment)
    if language == "sh":
        return check_commands(name, block, source)
    if language in EXAMPLES:
        return check_sample(name, EXAMPLES[language], block, source)
    return None if language == "text" else f"{name}: a block of the language {language!r}"


def check_links(name, text, source):
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        if not pathlib.Path(source, name).parent.joinpath(target).exists():
            yield f"{name} links to {target}, which is not there"


def check_size(text):
    lines, words = len(text.splitlines()), len(re.sub(r"```.*?```", "", text, flags=re.S).split())
    if lines > MAX_LINES:
        yield f"README.md has {lines} lines, at most {MAX_LINES}"
    if words > MAX_WORDS:
        yield f"README.md has {words} words beside its blocks, at most {MAX_WORDS}"


def check_document(name, source, build):
    """Returns the number of its blocks, and its faults."""
    text = pathlib.Path(source, name).read_text(encoding="utf-8")
    wrong = [*check_links(name, text, source)]
    count = 0
    with scratch.hive(source, build) as (tree, environment):
        for language, block in blocks(text):
            count += 1
            fault = check_block(name, language, block, source, tree, environment)
            wrong += [fault] if fault else []
    return count, wrong


def main():
    source, build, *left_out = sys.argv[1:]
    if unknown := set(left_out) - set(DOCUMENTS):
        raise SystemExit(f"readme_test.py: no such documents: {', '.join(sorted(unknown))}")
    for name in left_out:
        print(f"left out: {name}")
    wrong = [*check_size(pathlib.Path(source, "README.md").read_text(encoding="utf-8"))]
    counts = []
    for name in (name for name in DOCUMENTS if name not in left_out):
        count, faults = check_document(name, source, build)
        counts.append(count)
        wrong += faults
    print("\n\n".join(wrong))
    print(f"documents: {sum(counts)} blocks, {len(wrong)} faults")
    return 1 if wrong or 0 in counts else 0


if __name__ == "__main__":
    sys.exit(main())
