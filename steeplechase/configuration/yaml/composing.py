"""YAML text to PyYAML nodes, with the pure-Python loader and limits that are checked before a node is made.

The C loader crashes on deep nesting, and aliases and merge keys can grow exponentially.
"""

from dataclasses import dataclass
from typing import cast

import yaml

from steeplechase.configuration.yaml.syntax import Malformed, malformed_from

DEPTH_AT_MOST = 32
NODES_AT_MOST = 50_000
CORE_TAGS = "tag:yaml.org,2002:"  # written as `!!`


@dataclass(frozen=True)
class Composed:
    """The document's top node, and messages about nodes that are not allowed, by `id` of the node."""

    top: yaml.Node
    refused: dict[int, str]


def compose(text: str) -> Composed:
    """Return the document's nodes. Raises Malformed unless the text is a single YAML document within the limits."""
    lines = text.splitlines()
    loader = _GuardedLoader(text)
    try:
        return _composed(loader)
    except yaml.MarkedYAMLError as error:
        raise malformed_from(error, lines) from None
    except (ValueError, OverflowError):  # PyYAML's own: an escape or a %YAML version beyond any number
        raise Malformed(loader.line + 1, "an escape or a directive on this line is invalid") from None


def _composed(loader: "_GuardedLoader") -> Composed:
    if not loader.check_node():
        raise Malformed(1, "the document is empty; an experiment is a mapping of keys to values")
    top = loader.get_node()
    if loader.check_node():
        _, line = loader.upcoming()
        raise Malformed(line, "a second document starts here; a file holds one experiment")
    assert top is not None
    return Composed(top, loader.refused)


class _GuardedLoader(yaml.SafeLoader):
    """Composes nodes, without constructing values; checks each event before its node is made."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.refused: dict[int, str] = {}
        self._depth = 0
        self._nodes = 0

    def upcoming(self) -> tuple[yaml.NodeEvent, int]:
        """Return the next event without consuming it, and its line, counted from 1."""
        event = cast("yaml.NodeEvent", self.peek_event())  # type: ignore[no-untyped-call]
        return event, event.start_mark.line + 1  # type: ignore[union-attr]

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        event, line = self.upcoming()
        self._nodes += 1
        if self._nodes > NODES_AT_MOST:
            raise Malformed(line, f"more than {NODES_AT_MOST} values, the most allowed")
        if self._depth >= DEPTH_AT_MOST:
            raise Malformed(line, f"nested deeper than {DEPTH_AT_MOST} levels")
        refusal = _refusal(event)
        if isinstance(event, yaml.AliasEvent):
            self.get_event()  # type: ignore[no-untyped-call]
            node: yaml.Node | None = yaml.ScalarNode("", "", event.start_mark, event.end_mark)  # type: ignore[arg-type]
        else:
            event.anchor = event.tag = None  # type: ignore[attr-defined]
            self._depth += 1
            node = super().compose_node(parent, index)  # type: ignore[arg-type]
            self._depth -= 1
        if refusal:
            self.refused[id(node)] = refusal
        return node


def _refusal(event: yaml.NodeEvent) -> str:
    if isinstance(event, yaml.AliasEvent):
        return f"the alias *{event.anchor} is not allowed; write the value out"
    if event.anchor is not None:
        return f"the anchor &{event.anchor} is not allowed; write the value out where it is needed"
    tag: str | None = event.tag  # type: ignore[attr-defined]
    if tag is not None:
        return (
            f"the tag {tag.replace(CORE_TAGS, '!!')} is not allowed; write a plain value, or quote it to make it text"
        )
    return ""
