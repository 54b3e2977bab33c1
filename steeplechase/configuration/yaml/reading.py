"""PyYAML nodes to nodes with locations: keys are unique text, scalars are unambiguous between YAML versions."""

import re
import unicodedata
from functools import lru_cache

import yaml

from steeplechase.configuration.yaml.composing import Composed, compose
from steeplechase.configuration.yaml.errors import Location, Mistake, mistake, refuse, shown
from steeplechase.configuration.yaml.nodes import Entries, Items, Leaf, Node
from steeplechase.configuration.yaml.scalars import Misread, plain_scalar
from steeplechase.configuration.yaml.syntax import Malformed, missing_space

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
            elif key_node.value in nodes:
                first = nodes[key_node.value].location.line
                self._report(
                    Location(line, location.path).under(key_node.value), f"duplicate key, first at line {first}"
                )
            else:
                nodes[key_node.value] = self.node(value_node, Location(line, (*location.path, key_node.value)))
        return Entries(location, nodes, flawed)

    def _leaf(self, node: yaml.ScalarNode, location: Location) -> Leaf:
        if not node.value.isascii() and any(unicodedata.category(each) == "Cs" for each in node.value):
            self._report(location, f"{shown(node.value)} holds half of a surrogate pair, which is no character")
            return Leaf(location, None, flawed=True)
        if node.style is not None:
            return Leaf(location, str(node.value))
        later_lines = range(node.start_mark.line + 1, min(node.end_mark.line + 1, len(self._lines)))
        for line in later_lines:
            hint = missing_space(self._lines[line])
            if hint:  # the line was read as part of the text above it
                self._report(Location(line + 1, location.path), hint)
                return Leaf(location, None, flawed=True)
        value = plain_scalar(node.value)
        if isinstance(value, Misread):
            self._report(location, value.message)
            return Leaf(location, None, flawed=True)
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
