"""The comments of sources and the prose of Markdown, as blocks of text, and their wording."""

import ast
import re

import cpp_text

# The functions of Python.
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A sentence that opens with one of these hides its actor.
OPENERS = "Of|Whoever|Whom|Who|What|Where"
_OPENING = re.compile(
    r"(?:\A|\n[ \t]*\n|[.!?:][\"')`]*\s|(?:\A|\n)[ \t]*[-*]\s)[\s\"'(`]*(?P<word>%s)\b" % OPENERS
)
_SENTENCE_END = re.compile(r"[.!?](?=[\"')`]*(?:\s|\Z))|\n[ \t]*\n|\Z")
_QUOTED = re.compile(r"`[^`\n]*`")
_WORD = re.compile(r"[A-Za-z][\w'-]*")
_HIDING = re.compile(r"\b(who|whom|whose|whoever|what)\b", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(```|~~~)")
# The marks of a heading, a quotation or an item of a list; each begins a block.
_MARKUP = re.compile(r"\s*(#+|>|[-*+]|\d+\.)\s+")
_HASH = re.compile(r"(?:^|(?<=\s))#(?!!)")


class Block:
    """Lines of comment that belong together; line i of `text` stands at line first + i."""

    def __init__(self, first, text):
        self.first = first
        self.text = text

    def line_of(self, at):
        return self.first + self.text.count("\n", 0, at)


def _merged(pieces):
    """Blocks from (line, column, whether code stands before it, text of a line), in order."""
    block, last = None, None
    for line, column, is_trailing, text in pieces:
        goes_on = (
            block is not None
            and not is_trailing
            and line == last[0] + 1
            and (column == last[1] or not last[2])
        )
        if goes_on:
            block.text += "\n" + text
        else:
            if block is not None:
                yield block
            block = Block(line, text)
        last = (line, column, is_trailing)
    if block is not None:
        yield block


def _cpp_pieces(source):
    for at, text in cpp_text.comments(source):
        start = source.rfind("\n", 0, at) + 1
        line, is_trailing = source.count("\n", 0, at) + 1, bool(source[start:at].strip())
        if text.startswith("/*"):
            text = re.sub(r"\*/\Z", "", text)
        for more, part in enumerate(text.split("\n")):
            part = re.sub(r"^\s*(//[/!]?<?|/\*+<?|\*(?!\*))", "", part)
            yield line + more, at - start, is_trailing and more == 0, part.strip()


def _docstrings(source):
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        has_body = isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))
        if has_body and ast.get_docstring(node):
            text = node.body[0].value
            yield Block(text.lineno, text.value)


def _hash_pieces(source):
    for number, line in enumerate(source.split("\n"), 1):
        for found in _HASH.finditer(line):
            before = line[: found.start()]
            # A mark inside a literal begins no comment.
            if before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
                yield number, found.start(), bool(before.strip()), line[found.end() :].strip()
                break


def blocks(name, source):
    """The comments of the source file `name`, docstrings of Python among them."""
    if name.endswith((".h", ".cc")):
        return list(_merged(_cpp_pieces(source)))
    found = list(_merged(_hash_pieces(source)))
    if name.endswith((".py", ".pyi")):
        found += _docstrings(source)
    return sorted(found, key=lambda block: block.first)


def _markdown_pieces(line):
    """(whether a new block begins here, text without its marks) of each part of a line."""
    line = _QUOTED.sub("`x`", line)
    if line.lstrip().startswith("|"):
        for cell in line.strip().strip("|").split("|"):
            yield True, cell.strip()
        return
    heading = line.lstrip().startswith("#")
    mark = _MARKUP.match(line)
    text = re.sub(r"[*\[\]]", "", line[mark.end() :] if mark else line).strip()
    if not (heading and text.endswith("?")):
        yield bool(mark), text


def prose(source):
    """The prose of a Markdown text: no fenced code, and no heading that asks.

    A paragraph, a heading, an item of a list and a cell of a table are a block each."""
    found, in_code, goes_on = [], False, False
    for number, line in enumerate(source.split("\n"), 1):
        if _FENCE.match(line):
            in_code, goes_on = not in_code, False
        elif not in_code:
            for is_new, text in _markdown_pieces(line):
                if goes_on and text and not is_new:
                    found[-1].text += "\n" + text
                elif text:
                    found.append(Block(number, text))
                goes_on = bool(text) and line.lstrip()[:1] not in ("#", "|")
    return found


def openings(block):
    """Yields (line, word) for each sentence that opens with one of OPENERS and asks nothing."""
    for match in _OPENING.finditer(block.text):
        end = _SENTENCE_END.search(block.text, match.end())
        if end.group() != "?":
            yield block.line_of(match.start("word")), match.group("word")


def hiding_words(found):
    """(number of words, lines of those that hide the actor) of these blocks.

    The text between backquotes is a name and no prose."""
    words, lines = 0, []
    for block in found:
        text = _QUOTED.sub("", block.text)
        words += len(_WORD.findall(text))
        for match in _HIDING.finditer(text):
            lines.append(block.first + text.count("\n", 0, match.start()))
    return words, lines
