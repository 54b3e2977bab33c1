"""Scales: partial overrides by name, each merged over the rest of the document."""

import re

from steeplechase.configuration.yaml.errors import Mistake, mistake, refuse, shown
from steeplechase.configuration.yaml.messages import NAME_PATTERN, NAME_RULE
from steeplechase.configuration.yaml.nodes import Entries, Leaf, Node
from steeplechase.foundation.errors import did_you_mean
from steeplechase.foundation.schema import VARIANT_KEY

SCALES_KEY = "scales"


def split(file: str, document: Entries) -> tuple[Entries, dict[str, Entries], tuple[Mistake, ...]]:
    """Return the document without its `scales`, the overrides by name, and mistakes in their form."""
    nodes = {key: node for key, node in document.nodes.items() if key != SCALES_KEY}
    base = Entries(document.location, nodes, document.flawed)
    section = document.nodes.get(SCALES_KEY)
    if section is None:
        return base, {}, ()
    if not isinstance(section, Entries):
        message = "a mapping of names to overrides is needed, such as smoke: {}"
        return base, {}, () if _already_reported(section) else (mistake(file, section.location, message),)
    overrides: dict[str, Entries] = {}
    mistakes: list[Mistake] = []
    for name, node in section.nodes.items():
        if isinstance(node, Leaf) and node.value is None:
            node = Entries(node.location, {}, node.flawed)  # noqa: PLW2901 - `paper:` overrides nothing
        if not re.fullmatch(NAME_PATTERN, name):
            mistakes.append(mistake(file, node.location, f"{shown(name)} is not allowed; {NAME_RULE}"))
        elif not isinstance(node, Entries):
            mistakes.append(mistake(file, node.location, "a mapping of overrides is needed"))
        elif SCALES_KEY in node.nodes:
            mistakes.append(mistake(file, node.nodes[SCALES_KEY].location, "a scale cannot hold scales"))
        else:
            overrides[name] = node
    return base, overrides, tuple(mistakes)


def merged(base: Node, override: Node) -> Node:
    """Return the override merged into the base: mappings are merged, any other value is replaced.

    A mapping with a `kind` is a complete option, so it replaces the base's mapping. Every value keeps its location.
    """
    if not (isinstance(base, Entries) and isinstance(override, Entries)) or VARIANT_KEY in override.nodes:
        return override
    return _into(base, override)


def _into(base: Entries, override: Entries) -> Entries:
    nodes = dict(base.nodes)
    for key, node in override.nodes.items():
        nodes[key] = merged(nodes[key], node) if key in nodes else node
    return Entries(base.location, nodes, base.flawed or override.flawed)


def documents(base: Entries, overrides: dict[str, Entries]) -> dict[str | None, Entries]:
    """Return the document without a scale under None, and the merged document of every scale under its name."""
    by_scale: dict[str | None, Entries] = {None: base}
    for name, override in overrides.items():
        by_scale[name] = _into(base, override)
    return by_scale


def refuse_unknown_scale(file: str, document: Entries, scale: str, known: tuple[str, ...]) -> None:
    """Raise ConfigurationError unless the file has the scale."""
    if scale in known:
        return
    location = document.nodes[SCALES_KEY].location if SCALES_KEY in document.nodes else document.location
    choices = f"this file has {', '.join(known)}" if known else "this file has no scales"
    refuse([mistake(file, location, f"{scale!r} is not a scale; {choices}.{did_you_mean(scale, known)}")])


def _already_reported(node: Node) -> bool:
    return isinstance(node, Leaf) and node.flawed
