"""Nodes of a configuration file: values with their locations."""

from dataclasses import dataclass

from steeplechase.configuration.yaml.errors import Location
from steeplechase.configuration.yaml.scalars import Scalar


@dataclass(frozen=True)
class Leaf:
    """One scalar. A flawed one is reported as a mistake and has the value null."""

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


def child(node: Node, key: str | int) -> Node | None:
    """Return the node at a key or a list position, None if there is none."""
    if isinstance(node, Entries) and isinstance(key, str):
        return node.nodes.get(key)
    if isinstance(node, Items) and isinstance(key, int) and 0 <= key < len(node.nodes):
        return node.nodes[key]
    return None
