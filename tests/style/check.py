#!/usr/bin/env python3
"""Checks the rules of CONTRIBUTING.md that a machine can check. Usage: check.py ROOT [FOLDER]

Prints `file:line: rule: message` for each violation and exits with 1 if there is one. With a
folder, such as `src/os/`, it prints only the violations of the files in it."""

import ast
import pathlib
import re
import subprocess
import sys

import classes
import comments
import cpp_text

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 100
MAX_DATA_MEMBERS = 25
MAX_MEMBER_FUNCTIONS = 60
# In each hundred words of the comments of a file. One such word is allowed in any file.
MAX_HIDING_WORDS = 0.3

CPP_FOLDERS = ("shm/", "src/", "bindings/", "tools/", "bench/", "tests/")
# The message path: nothing may touch its memory but through the names of shm/atomic.h.
SEGMENT_FOLDERS = ("shm/", "src/wake/", "src/send/", "src/receive/")
# Folders in which threads of one process may share a plain atomic.
IN_PROCESS_FOLDERS = ("src/agent/", "src/buffer/", "src/c/", "bindings/", "tests/", "bench/")
ATOMIC_HEADER = "shm/atomic.h"

STD = r"<[a-z_]+>"
# The headers of the C interface need these.
C_STD = r"<std(bool|def|int)\.h>|<string\.h>"
OWN = r'"%s/[^"]+"'
SYSTEM = r"<((sys|linux|netinet|arpa)/)?\w+\.h>"
# The headers that every module uses for errors.
RESULT = r"<tl/expected\.hpp>|<beeline/result\.h>"
# The headers that the files of a folder may include.
ALLOWED_INCLUDES = (
    ("shm/", (STD, OWN % "shm")),
    ("include/beeline/", (STD, C_STD, r"<tl/expected\.hpp>", r"<beeline/[^>]+>")),
    ("src/os/", (STD, SYSTEM, RESULT, OWN % "src/os")),
    # A room above the engine does not see it.
    (
        "src/spool/",
        (
            STD,
            SYSTEM,
            r"<fmt/format\.h>",
            r"<nlohmann/json\.hpp>",
            r"<tl/expected\.hpp>",
            r"<beeline/(result|spool|types)\.h>",
            OWN % "src/os",
            OWN % "src/spool",
        ),
    ),
    (
        "src/steward/",
        (
            STD,
            SYSTEM,
            r"<fmt/(chrono|format|ranges)\.h>",
            r"<nlohmann/json\.hpp>",
            r"<tl/expected\.hpp>",
            r"<beeline/[^>]+>",
            # The place of the hive, and the rules for its names.
            r'"src/control/(hive_paths|names)\.h"',
            OWN % "src/os",
            OWN % "src/service",
            OWN % "src/steward",
            OWN % "src/yaml",
        ),
    ),
    (
        "src/buffer/",
        (
            STD,
            SYSTEM,
            r"<boost/lockfree/spsc_queue\.hpp>",
            r"<fmt/format\.h>",
            r"<nlohmann/json\.hpp>",
            r"<tl/expected\.hpp>",
            r"<beeline/[^>]+>",
            # The rules for texts.
            r'"src/control/names\.h"',
            OWN % "src/buffer",
            OWN % "src/os",
            OWN % "src/service",
            OWN % "src/yaml",
        ),
    ),
    # The rooms share these, and they see none of them.
    (
        "src/service/",
        (
            STD,
            SYSTEM,
            r"<fmt/(chrono|format|ranges)\.h>",
            r"<nlohmann/json\.hpp>",
            r"<beeline/result\.h>",
            r'"src/control/json_values\.h"',
            OWN % "src/os",
            OWN % "src/service",
        ),
    ),
    (
        "src/yaml/",
        (
            STD,
            r"<fmt/(format|ranges)\.h>",
            r"<tl/expected\.hpp>",
            r"<yaml-cpp/\w+\.h>",
            r'"src/control/names\.h"',
            OWN % "src/yaml",
        ),
    ),
    # The C interface is a user of the public headers.
    ("src/c/", (STD, r"<(unistd|poll|time|sys/types)\.h>", r"<beeline/[^>]+>", OWN % "src/c")),
    # The Python package sees the engine through the C interface alone. SYSTEM has <Python.h>.
    ("bindings/python/", (STD, SYSTEM, r"<beeline/c(/\w+)?\.h>", OWN % "bindings/python")),
)
FORBIDDEN_INCLUDES = (
    ("src/send/", (OWN % "src/receive", OWN % "src/control")),
    ("src/receive/", (OWN % "src/send", OWN % "src/control")),
)
CLASS_FOLDERS = ("shm/", "src/", "include/", "bindings/", "tools/", "bench/")

RAW_ATOMIC = re.compile(
    r"\bstd::atomic\b|\bstd::atomic_\w+|\batomic_(thread|signal)_fence\b|\b__(atomic|sync)_\w+"
)
CLASS_OF_MEMBER = re.compile(r"^\S.*?\b(\w+)::\w+\(", re.MULTILINE)
INLINE_MEMBER = re.compile(r"^(?:\[\[.*?\]\] )?inline .*?\b(\w+)::(\w+)\(", re.MULTILINE)
ATOMIC_SLEEP = re.compile(r"\batomic_(flag_)?(wait|notify_\w+)\b|[.>](notify_one|notify_all)\s*\(")
TEMPLATE_CLASS = re.compile(r"\btemplate\s*<\s*class\b|<[^<>(){};]*,\s*class\s+\w+\s*[,>=]")
TEST_NAME = re.compile(
    rf"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*\w+,\s*(?:{comments.OPENERS})(?![a-z])"
)
# The texts about earlier states of the project stay as they were written.
PAST = "docs/history/"
# Split, so that this file passes its own check.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
ABSOLUTE_PATH = re.compile(r"(?<![\w.$}*-])/(ho" r"me|wo" r"rk|ro" r"ot)/")


def is_cpp(name):
    return name.endswith((".h", ".cc", ".c"))


def is_source(name):
    base = name.rsplit("/", 1)[-1]
    return (
        is_cpp(name)
        or name.endswith((".cmake", ".py", ".pyi", ".in"))
        or base in ("CMakeLists.txt", "Makefile")
        or ("." not in base and name.startswith(("scripts/", ".ci/", "tests/")))
    )


def check_text(name, text):
    """The rules about any source file."""
    lines = text.splitlines()
    if len(lines) > MAX_FILE_LINES:
        yield len(lines), "file-length", f"{len(lines)} lines, at most {MAX_FILE_LINES}"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield number, "columns", f"{len(line)} columns, at most {MAX_COLUMNS}"
        if UNFINISHED.search(line):
            yield number, "unfinished", "finish it or open an issue"


def check_paths(name, text):
    """The rule about any text file."""
    for number, line in enumerate(text.splitlines(), 1):
        if ABSOLUTE_PATH.search(line):
            yield number, "absolute-path", "names a place on one machine"


def check_functions(name, text):
    try:
        for first, last in cpp_text.functions(text):
            length = last - first + 1
            if length > MAX_FUNCTION_LINES:
                yield first, "function-length", f"{length} lines, at most {MAX_FUNCTION_LINES}"
    except cpp_text.UnbalancedBraces as error:
        yield error.line, "braces", "the checker cannot pair the braces"


def check_python_functions(name, text):
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield error.lineno, "syntax", "the checker cannot read it"
        return
    for node in ast.walk(tree):
        if isinstance(node, comments.FUNCTIONS):
            length = node.end_lineno - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                message = f"{length} lines, at most {MAX_FUNCTION_LINES}"
                yield node.lineno, "function-length", message


def check_classes(name, text):
    try:
        for kind in classes.classes(text) if name.startswith(CLASS_FOLDERS) else ():
            for count, what, most in (
                (kind.data_members, "data members", MAX_DATA_MEMBERS),
                (kind.functions, "member functions", MAX_MEMBER_FUNCTIONS),
            ):
                if count > most:
                    message = f"{kind.name} has {count} {what}, at most {most}"
                    yield kind.line, "class-size", message
    except cpp_text.UnbalancedBraces:
        pass  # check_functions() says so.


def check_wording(name, text):
    """The rules about the comments of a source, the prose of a document, the names of tests."""
    found = comments.prose(text) if name.endswith(".md") else comments.blocks(name, text)
    for block in found:
        for line, word in comments.openings(block):
            yield line, "sentence-opening", f"a sentence opens with {word}: name the actor"
    words, lines = comments.hiding_words(found)
    allowed = max(1, int(words * MAX_HIDING_WORDS / 100))
    if len(lines) > allowed:
        where = ", ".join(map(str, lines))
        yield lines[0], "hidden-actor", (
            f"{len(lines)} of who/whom/whose/whoever/what in {words} words, at most {allowed}: "
            f"lines {where}"
        )
    if is_cpp(name):
        for match in TEST_NAME.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, "test-name", "name the actor first"


def check_forms(name, text):
    """The rule about what can be written in two ways."""
    for number, line in enumerate(cpp_text.without_comments(text).splitlines(), 1):
        if "static_cast<void>(" in line:
            yield number, "one-form", "write (void) before what is not used"
        if TEMPLATE_CLASS.search(line):
            yield number, "one-form", "write typename for the parameter of a template"
    for at, comment in cpp_text.comments(text):
        if comment.startswith("///") and not name.startswith("include/"):
            message = "three slashes are for the public headers"
            yield text.count("\n", 0, at) + 1, "one-form", message


def check_atomics(name, text):
    if name == ATOMIC_HEADER:
        return
    raw_lines = text.splitlines()
    on_message_path = name.startswith(SEGMENT_FOLDERS)
    has_condition_variable = "#include <condition_variable>" in text
    for number, line in enumerate(cpp_text.without_comments(text).splitlines(), 1):
        if not name.startswith(IN_PROCESS_FOLDERS) and RAW_ATOMIC.search(line):
            yield number, "raw-atomic", f"use the names of {ATOMIC_HEADER}"
        if on_message_path and "memory_order" in line:
            around = "\n".join(raw_lines[max(0, number - 2) : number])
            if "SYNC(" not in around and "relaxed:" not in around:
                yield number, "memory-order", "needs a SYNC(...) or `relaxed:` comment"
        if ATOMIC_SLEEP.search(line) and (on_message_path or not has_condition_variable):
            yield number, "atomic-wait", "src/wake is the one place that sleeps"


def includes(text):
    """Yields (line number, target with its quotes or brackets)."""
    for number, line in enumerate(cpp_text.without_comments(text).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"][^>"]+[>"])', line)
        if match:
            yield number, match.group(1)


def _fits(target, patterns):
    return any(re.fullmatch(pattern, target) for pattern in patterns)


def check_includes(name, text):
    for number, target in includes(text):
        for folder, allowed in ALLOWED_INCLUDES:
            if name.startswith(folder) and not _fits(target, allowed):
                yield number, "include-direction", f"{folder} may not include {target}"
        for folder, forbidden in FORBIDDEN_INCLUDES:
            if name.startswith(folder) and _fits(target, forbidden):
                yield number, "include-direction", f"{folder} may not include {target}"


def check_pragmas(name, text):
    code = cpp_text.without_comments(text)
    if name.endswith(".h") and not re.search(r"^#pragma once$", code, re.MULTILINE):
        yield 1, "pragma-once", "every header has #pragma once"
    for number, line in enumerate(code.splitlines(), 1):
        if re.match(r"\s*#\s*pragma\s+pack\b", line):
            yield number, "pragma-pack", "pad with a named reserved field"


def _resolve(folder, target):
    """`target`, written in a file of `folder`, as a path from the root."""
    parts = []
    for part in f"{folder}/{target}".split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def check_references(files):
    """Yields (name, line, rule, message) for sources that nobody builds or includes."""
    named = set()
    for name, text in files.items():
        folder = name.rpartition("/")[0]
        if name.endswith("CMakeLists.txt"):
            code = re.sub(r"#[^\n]*", "", text).replace("${PROJECT_SOURCE_DIR}/", "/")
            code = code.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
            for word in re.findall(r"[^\s()\"]+\.cc?\b", code):
                named.add(word[1:] if word.startswith("/") else _resolve(folder, word))
        if is_cpp(name):
            for _, target in includes(text):
                path = target[1:-1]
                named.update((path, f"include/{path}"))
                if target.startswith('"'):
                    named.add(_resolve(folder, path))
    for name in files:
        if is_cpp(name) and name.startswith(CPP_FOLDERS + ("include/",)) and name not in named:
            how = "included by no file" if name.endswith(".h") else "named by no CMakeLists.txt"
            yield name, 1, "unreferenced", how


def check_inlines(files):
    """Yields (name, line, rule, message) for calls of a member that is inline in another source.

    A unity build links them, a build of each source by itself does not."""
    sources = {n: cpp_text.without_comments(t) for n, t in files.items() if n.endswith(".cc")}
    members = {name: set(CLASS_OF_MEMBER.findall(text)) for name, text in sources.items()}
    for home, text in sources.items():
        for kind, member in INLINE_MEMBER.findall(text):
            call = re.compile(rf"(?<![\w.>:~]){member}\(")
            for name in sources:
                if name == home or kind not in members[name]:
                    continue
                for number, line in enumerate(sources[name].splitlines(), 1):
                    if call.search(line):
                        yield name, number, "inline", f"{kind}::{member} is inline in {home}"


def check_all(files):
    """All violations in `files`, a map from path to text, as printable lines."""
    found = [*check_references(files), *check_inlines(files)]
    for name, text in files.items():
        checks = [check_paths]
        if is_source(name):
            checks += [check_text, check_wording]
        if name.endswith(".md") and not name.startswith(PAST):
            checks.append(check_wording)
        if name.endswith((".py", ".pyi")):
            checks.append(check_python_functions)
        if is_cpp(name):
            checks += [
                check_functions, check_classes, check_forms, check_atomics, check_includes,
                check_pragmas,
            ]
        for check in checks:
            found += [(name, *violation) for violation in check(name, text)]
    return [f"{name}:{line}: {rule}: {message}" for name, line, rule, message in sorted(found)]


def read_tree(root):
    """Text of every file that is, or is about to be, under version control."""
    # safe.directory: the work tree may belong to another user.
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    )
    files = {}
    for name in sorted(set(listing.stdout.decode().split("\0")) - {""}):
        path = pathlib.Path(root, name)
        if not path.is_file():
            continue
        try:
            files[name] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            pass  # Not a text, for example a corpus of a fuzzer.
    return files


def main():
    files = read_tree(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else ""
    violations = [line for line in check_all(files) if line.startswith(folder)]
    for violation in violations:
        print(violation)
    print(f"style: {len(files)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
