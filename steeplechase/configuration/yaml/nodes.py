"""PyYAML nodes to values with their locations; scalars that YAML 1.1 and 1.2 read differently are mistakes.

YAML 1.2.2 section 10.3.2; YAML 1.1 as in yaml.org/type, which PyYAML follows. One exception: an exponent without a
decimal point (`1e-3`) is text in YAML 1.1, but is accepted as the number that it is in YAML 1.2.
"""

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import yaml

from steeplechase.configuration.yaml.errors import Location, Mistake, mistake, refuse, shown
from steeplechase.configuration.yaml.text import Composed, Malformed, compose, missing_space

Scalar = None | bool | int | float | str

LARGEST_INTEGER = 2**53  # beyond it, integers are not exact as doubles and JSON numbers
NUMBER_CHARACTERS_AT_MOST = 100

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_OLD_BOOLEAN = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_OTHER_BASE = re.compile(r"[-+]?0([oO]_*[0-7][0-7_]*|[xX]_*[0-9a-fA-F][0-9a-fA-F_]*|[bB]_*[01][01_]*)")
_UNDERSCORES = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][-0-9:.+Zz \t]*)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Misread:
    """A plain scalar that is ambiguous or out of range; the message has a correction."""

    message: str


def plain_scalar(text: str) -> Scalar | Misread:
    """Return the value of an unquoted scalar."""
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if text.lower() in _OLD_BOOLEAN and text in (text.lower(), text.upper(), text.capitalize()):
        meant = _OLD_BOOLEAN[text.lower()]
        return Misread(f"{text} is a boolean to some YAML readers; write {meant}, or '{text}' if it is text")
    if text[0] in "+-.0123456789":
        return _numeric(text)
    return text


def _numeric(text: str) -> Scalar | Misread:
    read = next((read for form, read in _FORMS if form.fullmatch(text)), None)
    if read is None:
        return text
    if len(text) > NUMBER_CHARACTERS_AT_MOST:
        return Misread(f"a number of {len(text)} characters; write a shorter one, or quote it to make it text")
    return read(text)


def _integer(text: str) -> Scalar | Misread:
    value = int(text)
    if abs(value) > LARGEST_INTEGER:
        return Misread(f"{value} is beyond 2^53, the largest exact integer; write a smaller one, or quote it")
    return value


def _real(text: str) -> Scalar | Misread:
    """Return a real number; a whole number with an exponent (`2e6`) becomes an integer, so that it can be a count."""
    value = float(text)
    if math.isinf(value):
        return _not_finite(text)
    counts = "e" in text.lower() and value.is_integer() and abs(value) <= LARGEST_INTEGER
    return int(value) if counts else value


def _not_finite(text: str) -> Misread:
    return Misread(f"{text} is not finite; write a finite number")


def _octal_looking(text: str) -> Misread:
    meant = int(text.replace("_", ""))
    return Misread(f"{text} is an octal-looking integer; write {meant}, or '{text}' if it is text")


def _other_base(text: str) -> Misread:
    meant = int(text.replace("_", ""), 0)
    return Misread(f"{text} is not a decimal number; write {meant}, or '{text}' if it is text")


def _base_60(text: str) -> Misread:
    total = 0.0
    for part in text.lstrip("+-").replace("_", "").split(":"):
        total = 60 * total + float(part or 0)
    sign = "-" if text.startswith("-") else ""
    reading = f"a sexagesimal number ({sign}{total:.15g}) to some YAML readers"
    return Misread(f"{text} is {reading}; write one number, or '{text}' if it is text")


# in order of precedence
_FORMS: tuple[tuple[re.Pattern[str], Callable[[str], Scalar | Misread]], ...] = (
    (_NOT_FINITE, _not_finite),
    (_DATE, lambda text: Misread(f"{text} is a date to some YAML readers; quote it: '{text}'")),
    (_INTEGER, _integer),
    (_LEADING_ZERO, _octal_looking),
    (_REAL, _real),
    (_OTHER_BASE, _other_base),
    (
        _UNDERSCORES,
        lambda text: Misread(f"{text} has underscores; write {text.replace('_', '')}, or '{text}' if it is text"),
    ),
    (_BASE_60, _base_60),
)


@dataclass(frozen=True)
class Leaf:
    """One scalar. A flawed one is reported as a mistake; its value is its text, or null."""

    location: Location
    value: Scalar
    flawed: bool = False


@dataclass(frozen=True)
class Items:
    """A list."""

    location: Location
    nodes: "tuple[Node, ...]"


@dataclass(frozen=True)
class Entries:
    """A mapping. A flawed one lacks a key that is reported as a mistake."""

    location: Location
    nodes: "dict[str, Node]"
    flawed: bool = False


Node = Leaf | Items | Entries


def plain(node: Node) -> object:
    """Return the value without locations; lists become tuples, because declarations are frozen."""
    if isinstance(node, Leaf):
        return node.value
    if isinstance(node, Items):
        return tuple(plain(item) for item in node.nodes)
    return {key: plain(item) for key, item in node.nodes.items()}


def relocated(node: Node, moved: Callable[[Location], Location]) -> Node:
    """Return a node with every location of it and below it moved."""
    if isinstance(node, Leaf):
        return replace(node, location=moved(node.location))
    if isinstance(node, Items):
        return Items(moved(node.location), tuple(relocated(item, moved) for item in node.nodes))
    below = {key: relocated(item, moved) for key, item in node.nodes.items()}
    return Entries(moved(node.location), below, node.flawed)


def with_leaves(node: Node, changed: Callable[[str, Leaf], Leaf], key: str = "") -> Node:
    """Return a node with every scalar of it and below it changed; a function gets the key that it or its list has."""
    if isinstance(node, Leaf):
        return changed(key, node)
    if isinstance(node, Items):
        return replace(node, nodes=tuple(with_leaves(item, changed, key) for item in node.nodes))
    return replace(node, nodes={name: with_leaves(item, changed, name) for name, item in node.nodes.items()})


def child(node: Node, key: str | int) -> Node | None:
    """Return the node at a key or a list position, None if there is none."""
    if isinstance(node, Entries) and isinstance(key, str):
        return node.nodes.get(key)
    if isinstance(node, Items) and isinstance(key, int) and 0 <= key < len(node.nodes):
        return node.nodes[key]
    return None


MERGE_KEY = "<<"
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})  # controls, formats, unassigned, private, breaks


@lru_cache(maxsize=256)  # a file whose scales others inherit is read for each of them; nodes are frozen
def read_document(file: str, text: str) -> tuple[Entries, tuple[Mistake, ...]]:
    """Return the top mapping and its recoverable mistakes.

    Raises ConfigurationError for invalid YAML, or if the top node is not a mapping.
    """
    try:
        composed = compose(text)
    except Malformed as malformed:
        refuse([Mistake(file, malformed.line, "", malformed.message)])
    reader = _Reader(file, composed, text.splitlines())
    top = reader.node(composed.top, Location(composed.top.start_mark.line + 1))
    if not isinstance(top, Entries):
        refuse([*reader.mistakes, *_no_mapping(file, composed.top, top)])
    return top, tuple(reader.mistakes)


def _no_mapping(file: str, written: yaml.Node, top: Leaf | Items) -> tuple[Mistake, ...]:
    if isinstance(top, Leaf) and top.flawed:
        return ()
    if isinstance(top, Leaf) and top.value is None:
        message = "the document is empty; an experiment is a mapping of keys to values"
    elif isinstance(top, Items):
        message = "a mapping is needed, got a list"
    else:
        message = missing_space(written.value) or f"a mapping is needed, got {shown(written.value)}"
    return (mistake(file, top.location, message),)


class _Reader:
    """Converts PyYAML nodes to nodes with locations, and collects mistakes."""

    def __init__(self, file: str, composed: Composed, lines: list[str]) -> None:
        self.mistakes: list[Mistake] = []
        self._file = file
        self._refused = composed.refused
        self._lines = lines

    def node(self, node: yaml.Node, location: Location) -> Node:
        refusal = self._refused.get(id(node))
        if refusal:
            self._report(location, refusal)
            return Leaf(location, None, flawed=True)
        if isinstance(node, yaml.MappingNode):
            return self._entries(node, location)
        if isinstance(node, yaml.SequenceNode):
            items = (Location(item.start_mark.line + 1, (*location.path, i)) for i, item in enumerate(node.value))
            return Items(location, tuple(map(self.node, node.value, items)))
        assert isinstance(node, yaml.ScalarNode)
        return self._leaf(node, location)

    def _entries(self, node: yaml.MappingNode, location: Location) -> Entries:
        nodes: dict[str, Node] = {}
        flawed = False
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            refusal = self._refused.get(id(key_node)) or _key_refusal(key_node)
            if refusal:
                self._report(Location(line, location.path), refusal)
                flawed = True
                continue
            key, at = key_node.value, Location(line, (*location.path, key_node.value))
            if key in nodes:
                self._report(at, f"duplicate key, first at line {nodes[key].location.line}")
            else:
                nodes[key] = self.node(value_node, at)
        return Entries(location, nodes, flawed)

    def _leaf(self, node: yaml.ScalarNode, location: Location) -> Leaf:
        if not node.value.isascii() and any(unicodedata.category(each) == "Cs" for each in node.value):
            self._report(location, f"{shown(node.value)} holds half of a surrogate pair, which is no character")
            return Leaf(location, None, flawed=True)
        if node.style is not None:
            return Leaf(location, str(node.value))
        for line in range(node.start_mark.line + 1, min(node.end_mark.line + 1, len(self._lines))):
            hint = missing_space(self._lines[line])
            if hint:  # the line was read as part of the text above it
                self._report(Location(line + 1, location.path), hint)
                return Leaf(location, None, flawed=True)
        value = plain_scalar(node.value)
        if isinstance(value, Misread):
            self._report(location, value.message)
            return Leaf(location, str(node.value), flawed=True)
        return Leaf(location, value)

    def _report(self, location: Location, message: str) -> None:
        self.mistakes.append(mistake(self._file, location, message))


def _key_refusal(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        return "a key must be text, not a list or a mapping"
    text = str(node.value)
    invisible = next((each for each in text if unicodedata.category(each) in _INVISIBLE), None)
    if invisible is not None:
        name = unicodedata.name(invisible, "a control character")
        return f"the key {shown(text)} holds U+{ord(invisible):04X} ({name}), which is invisible; remove it"
    return _plain_key_refusal(text) if node.style is None else ""


def _plain_key_refusal(text: str) -> str:
    if text == MERGE_KEY:
        return "the merge key << is not allowed; write the keys out"
    if re.fullmatch(r"[A-Za-z_][\w-]*:\S+", text):
        return missing_space(text)
    if type(plain_scalar(text)) is not str:
        return f"a key must be text; quote it: {shown(text)}" if text else "a key is missing before ':'"
    return ""
