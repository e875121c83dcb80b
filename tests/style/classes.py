"""Counts the members of each class of a C++ source by reading its text."""

import re

import cpp_text

_ACCESS = re.compile(r"^(?:\s|\b(?:public|private|protected)\s*:(?!:))+")
_NO_MEMBER = re.compile(r"^(?:using|typedef|friend|static_assert|extern|namespace)\b")
_CONSTANT = re.compile(r"^(?=.*\bstatic\b)(?=.*\b(?:const|constexpr|constinit const)\b)", re.DOTALL)
_TYPE = re.compile(r"\b(class|struct|union|enum)\b")
_ATTRIBUTES = re.compile(r"\[\[.*?\]\]|\b(?:alignas|decltype|explicit)\s*\((?:[^()]|\([^()]*\))*\)")
_NAME = re.compile(r"\b(?:class|struct|union)\b((?:\s*\w+(?:::\w+)*)*)\s*(?::(?!:)|$)")
_OPERATOR = re.compile(r"\boperator\s*(?:\(\s*\)(?=\s*\()|[<>=!+\-*/%&|^~\[\],]+)")
# Stands for a block in the text of a declaration.
_BLOCK = "\x00"


class Class:
    def __init__(self, line, name):
        self.line = line
        self.name = name
        self.data_members = 0
        self.functions = 0


def _plain(declaration):
    """The declaration without attributes, parameters of templates, and labels before it."""
    text = _OPERATOR.sub("operator ", _ACCESS.sub("", declaration)).replace("->", " ")
    text = _ATTRIBUTES.sub(" ", text)
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    text = re.sub(r"^\s*template\b", "", text)
    return _ACCESS.sub("", text).strip()


def _count(kind, declaration):
    """Counts one declaration of the body of the class `kind`."""
    text = _plain(declaration)
    if not text or _NO_MEMBER.match(text):
        return
    if re.fullmatch(r"(?:class|struct|union|enum)\b[^(=]*", text) and _BLOCK not in text:
        words = re.sub(r":.*", "", text).split()
        if len([word for word in words if not _TYPE.fullmatch(word)]) <= 1:
            return  # It declares a type and no object.
    before_value = re.split(r"=(?!=)", text, maxsplit=1)[0]
    is_pointer = re.search(r"\(\s*(?:\w+::)?\*", before_value)
    is_function = re.search(r"\boperator\b", text) or ("(" in before_value and not is_pointer)
    if is_function:
        if not re.search(r"=\s*delete$", text):
            kind.functions += 1
    elif not _CONSTANT.match(text):
        kind.data_members += _declarators(text)


def _declarators(text):
    depth, count = 0, 1
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        count += sign == "," and depth == 0
    return count


def _name_of(head):
    found = _NAME.search(_plain(head))
    words = [w for w in (found.group(1).split() if found else []) if w != "final"]
    return words[-1] if words else ""


class _Reader:
    """Walks over the braces of a text and keeps the open scopes."""

    def __init__(self, text):
        self.text = text
        self.found = []
        self.scopes = []  # A Class, None for a namespace, False for any other block.
        self.heads = [""]  # For each scope the declaration that is being read.

    def _is_looking(self):
        return all(scope is not False for scope in self.scopes)

    def _end_declaration(self):
        kind = self.scopes[-1] if self.scopes else None
        if kind:
            _count(kind, self.heads[-1])
        self.heads[-1] = ""

    def _open(self, at):
        head, kind = self.heads[-1], False
        if self._is_looking() and cpp_text.opens_scope(head) and not re.search(r"\benum\b", head):
            kind = None
            if _TYPE.search(head):
                kind = Class(self.text.count("\n", 0, at) + 1, _name_of(head))
                self.found.append(kind)
        self.scopes.append(kind)
        self.heads.append("")

    def _close(self, at):
        if not self.scopes:
            raise cpp_text.UnbalancedBraces(self.text.count("\n", 0, at) + 1)
        kind = self.scopes.pop()
        self.heads.pop()
        if not self._is_looking():
            return
        follows = re.compile(r"\s*(\S?)").match(self.text, at + 1).group(1)
        if kind is None:
            self.heads[-1] = ""
        elif kind:
            outer = self.scopes[-1] if self.scopes else None
            if not kind.name and follows == ";" and outer:
                outer.data_members += kind.data_members  # Those of an unnamed union are its own.
            self.heads[-1] = "" if follows == ";" else f"{kind.name} "
        elif re.search(r"\benum\b", self.heads[-1]) and "(" not in self.heads[-1]:
            self.heads[-1] = "" if follows == ";" else "int "
        else:
            is_body = not cpp_text.is_data(_plain(self.heads[-1]))
            self.heads[-1] += _BLOCK
            if is_body and follows not in (",", "{", ")", "."):
                self._end_declaration()

    def read(self):
        last = 0
        for match in re.finditer(r"[{};]", self.text):
            if self._is_looking():
                self.heads[-1] += self.text[last : match.start()]
            last = match.end()
            if match.group() == "{":
                self._open(match.start())
            elif match.group() == "}":
                self._close(match.start())
            elif self._is_looking():
                self._end_declaration()
        return self.found


def classes(source):
    """The classes of a source, each with its own members; those within a function do not count."""
    return _Reader(cpp_text.without_directives(cpp_text.without_comments(source))).read()
