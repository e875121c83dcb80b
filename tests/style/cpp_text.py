"""Just enough C++ reading for the style check: text without comments, and where functions end."""

import re

_TOKEN = re.compile(
    r"""(?P<raw>\bu?8?[LU]?R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)")
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>\d(?:'?[\w.])*)
    |(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<char>'(?:\\.|[^'\\\n])+')
    |(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
    """,
    re.DOTALL | re.VERBOSE,
)


def _blank(text, mark=""):
    """Keeps the lines of `text` and nothing else."""
    return mark + "\n" * text.count("\n")


def without_comments(source):
    """The source with comments and the insides of literals removed; every line stays on its line.

    The names of included files stay, so that include lines can be read from the result."""

    def replace(match):
        kind = match.lastgroup if match.lastgroup != "tag" else "raw"
        text = match.group()
        if kind in ("word", "number"):
            return text
        if kind == "comment":
            return _blank(text, " ")
        line_start = source.rfind("\n", 0, match.start()) + 1
        if re.match(r"\s*#\s*include", source[line_start : match.start()]):
            return text
        return _blank(text, "0" if kind == "char" else '""')

    return _TOKEN.sub(replace, source)


def comments(source):
    """Yields (offset, text) of each comment."""
    for match in _TOKEN.finditer(source):
        if match.lastgroup == "comment":
            yield match.start(), match.group()


def without_directives(text):
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: _blank(m.group()), text, flags=re.MULTILINE)


_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b|\bextern\s*\"\"\s*$")
_TEMPLATE = re.compile(r"\btemplate\s*<[^{}]*?>(?=\s*(class|struct|union|requires|\[\[|\w))")


def opens_scope(head):
    """Whether a block with this text before it is a namespace, a type or an enumeration."""
    head = _TEMPLATE.sub("", head)
    found = _SCOPE.search(head)
    if not found:
        return False
    # `void f(struct stat* s) {` is a function; `struct alignas(64) Foo {` is none.
    return "(" not in re.sub(r"\balignas\s*\([^)]*\)|\[\[.*?\]\]", "", head)


def is_data(head):
    """Whether a block with this text before it is an initializer and not a body."""
    return "(" not in head or re.search(r"=\s*[\w:<>,\s]*$", head) is not None


_BEFORE_DECLARATION = re.compile(r"(\s|\b(public|private|protected)\s*:)*")


class UnbalancedBraces(Exception):
    """Carries the line on which the braces stopped making sense."""

    def __init__(self, line):
        super().__init__(line)
        self.line = line


def functions(source):
    """Yields (first line, last line) of every function that is not inside another one."""
    text = without_directives(without_comments(source))
    scopes = []  # True for a scope with functions to look for, False for any other block.
    head_start = 0  # Start of the declaration that the next brace belongs to.
    body_start = None  # Start of the declaration of the outermost body.
    for match in re.finditer(r"[{};]", text):
        at, sign = match.start(), match.group()
        line = text.count("\n", 0, at) + 1
        looking = all(scopes)
        if sign == ";":
            # A semicolon inside parentheses, as in `for (;;)`, only occurs in bodies.
            head_start = at + 1 if looking else head_start
        elif sign == "{":
            if looking and opens_scope(text[head_start:at]):
                scopes.append(True)
                head_start = at + 1
                continue
            if looking:
                body_start = None if is_data(text[head_start:at]) else head_start
            scopes.append(False)
        else:
            if not scopes:
                raise UnbalancedBraces(line)
            was_scope = scopes.pop()
            if not all(scopes):
                continue
            # After `a_{1}` of a constructor's initializer list the same declaration continues.
            follows = re.compile(r"\s*(\S?)").match(text, at + 1).group(1)
            if not was_scope and follows in (",", "{", ")", "."):
                continue
            if not was_scope and body_start is not None:
                first = _BEFORE_DECLARATION.match(text, body_start).end()
                yield text.count("\n", 0, first) + 1, line
            body_start = None
            head_start = at + 1
    if scopes:
        raise UnbalancedBraces(text.count("\n") + 1)
