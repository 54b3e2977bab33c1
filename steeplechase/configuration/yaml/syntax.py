"""Translates PyYAML's syntax errors into messages with a correction."""

import re

import yaml

# a key without a space before its value, as in `lr:0.1`, but not `http://…` or `12:30`
GLUED = re.compile(r"[\s{,\[-]*([A-Za-z_][\w-]*:(?=[^\s:/])[^\s,}\]]*)")

_PLAIN_MESSAGES = (
    ("mapping values are not allowed", "a second ':' in one value; quote it, or put the inner key on its own line"),
    ("could not find expected ':'", "a key without ':'; write key: value"),
    ("while scanning a quoted scalar", "the quote opened here is never closed"),
    ("while parsing a flow sequence", "the list opened here lacks a ',' or its ']'"),
    ("while parsing a flow mapping", "the mapping opened here lacks a ',' or its '}'"),
    ("while scanning a double-quoted scalar", 'an unknown escape; double the backslash or use single quotes'),
    ("block sequence entries are not allowed", "a list cannot start here; start it on its own line"),
    ("while parsing a block mapping", "the indentation fits no line above; align the key with its neighbours"),
    ("while parsing a block collection", "the indentation fits no line above; align the item with its neighbours"),
    ("expected the node content", "a value is missing here, or starts with a character that needs quotes"),
    ("cannot start any token", "a value cannot start with this character; quote it"),
    ("did not find expected <document start>", "text after the end of the document; align it with the first key"),
    ("undefined tag handle", "tags are not allowed; write a plain value, or quote it to make it text"),
    ("incompatible YAML document", "directives (%) are not allowed"),
    ("while scanning a block scalar", "text after | or > starts on the next line"),
    ("while scanning a directive", "directives (%) are not allowed"),
    ("while scanning an anchor", "anchors (&) are not allowed; quote the value if it is text"),
    ("while scanning an alias", "aliases (*) are not allowed; quote the value if it is text"),
)  # fmt: skip
_WHERE_OPENED = ("quote opened", "list opened", "mapping opened")


class Malformed(Exception):
    """An unrecoverable syntax error; the line is counted from 1."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(message)


def malformed_from(error: yaml.MarkedYAMLError, lines: list[str]) -> Malformed:
    """Return the error with a plain message, at the line that needs the correction."""
    marks = [mark for mark in (error.problem_mark, error.context_mark) if mark is not None]
    for line in sorted({min(mark.line, len(lines) - 1) - back for mark in marks for back in (0, 1)}, reverse=True):
        hint = _line_hint(lines[line], line + 1) if line >= 0 else ""
        if hint:
            return Malformed(line + 1, hint)
    complaint = f"{error.context}: {error.problem}"
    words = next((plain for sign, plain in _PLAIN_MESSAGES if sign in complaint), "this is not YAML")
    opened = words.startswith(tuple(f"the {what}" for what in _WHERE_OPENED))
    mark = marks[-1] if opened else marks[0]
    return Malformed(mark.line + 1, f"column {mark.column + 1}: {words}")


def missing_space(text: str) -> str:
    """Return a hint for a key without a space before its value, empty if there is none."""
    glued = GLUED.match(text)
    if glued is None:
        return ""
    key, _, value = glued[1][:60].partition(":")
    return f"a space is missing after ':'; write {key}: {value}"


def _line_hint(text: str, line: int) -> str:
    tab = re.match(r"[ ]*(?:[\w-]+:[ ]*)?\t", text)
    if tab:
        return f"tab at {line}:{tab.end()}; use spaces"
    return missing_space(text)
