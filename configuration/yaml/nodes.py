"""A configuration file as values that know their place: what is left of YAML once it has been read."""

from dataclasses import dataclass

from configuration.yaml.errors import Place
from configuration.yaml.scalars import Scalar


@dataclass(frozen=True)
class Leaf:
    """One scalar. A flawed one has been told as a mistake and stands as null."""

    place: Place
    value: Scalar
    flawed: bool = False


@dataclass(frozen=True)
class Items:
    """A list."""

    place: Place
    nodes: "tuple[Node, ...]"


@dataclass(frozen=True)
class Entries:
    """A mapping. A flawed one has lost a key that has been told as a mistake."""

    place: Place
    nodes: "dict[str, Node]"
    flawed: bool = False


Node = Leaf | Items | Entries


def plain(node: Node) -> object:
    """Return the value without its places; lists are tuples, because declarations are frozen."""
    if isinstance(node, Leaf):
        return node.value
    if isinstance(node, Items):
        return tuple(plain(item) for item in node.nodes)
    return {key: plain(item) for key, item in node.nodes.items()}


def child(node: Node, key: str | int) -> Node | None:
    """Return what stands under a key or a position, or None."""
    if isinstance(node, Entries) and isinstance(key, str):
        return node.nodes.get(key)
    if isinstance(node, Items) and isinstance(key, int) and 0 <= key < len(node.nodes):
        return node.nodes[key]
    return None
