"""Scales of another file: `scales: { like: table2.yaml }` stands for that file's scales, own ones laid over them."""

from pathlib import Path

from configuration.yaml.errors import Mistake, Place, mistake
from configuration.yaml.nodes import Entries, Items, Leaf, Node
from configuration.yaml.reading import read_document
from configuration.yaml.scales import SCALES_KEY, merged
from configuration.yaml.text import read_text
from foundation.errors import UserError

LIKE_KEY = "like"
FILES_AT_MOST = 4
"""Files that a chain of likes may lead through: table4's scales are table3's, and those are table2's."""


def with_inherited_scales(file: Path, document: Entries) -> tuple[Entries, tuple[Mistake, ...]]:
    """Return the document with the scales that it names, each value at the line that names them."""
    section = document.nodes.get(SCALES_KEY)
    like = _like(section)
    if not isinstance(section, Entries) or like is None:
        return document, ()
    inherited, fault = _scales_of(file.parent / str(like.value), FILES_AT_MOST)
    found = () if fault is None else (mistake(str(file), like.place, f"{like.value}: {fault}"),)
    placed: dict[str, Node] = {name: _placed(node, like.place.line) for name, node in inherited.items()}
    whole = Entries(section.place, _laid_over(placed, section), section.flawed)
    return Entries(document.place, {**document.nodes, SCALES_KEY: whole}, document.flawed), found


def _like(section: Node | None) -> Leaf | None:
    like = section.nodes.get(LIKE_KEY) if isinstance(section, Entries) else None
    return like if isinstance(like, Leaf) and isinstance(like.value, str) else None


def _laid_over(inherited: dict[str, Node], section: Entries) -> dict[str, Node]:
    """Return a file's own scales over those that it has from another; every scale of either."""
    scales = dict(inherited)
    for name, node in section.nodes.items():
        if name != LIKE_KEY:
            scales[name] = merged(scales[name], node) if name in scales else node
    return scales


def _scales_of(file: Path, files_left: int) -> tuple[dict[str, Node], str | None]:
    """Return a file's scales, those that it has from others included, or why there are none to be had."""
    try:
        document, mistakes = read_document(str(file), read_text(file))
    except UserError as refusal:
        return {}, refusal.lines[0].removeprefix(f"{file}: ")
    section = document.nodes.get(SCALES_KEY)
    if mistakes:
        return {}, f"line {mistakes[0].line}: {mistakes[0].message}"
    if not isinstance(section, Entries) or not section.nodes:
        return {}, "this file has no scales"
    like = _like(section)
    if like is None:
        return dict(section.nodes), None
    if files_left == 1:
        return (
            {},
            f"its scales are another file's, and so on through {FILES_AT_MOST} files; name the one that has them",
        )
    inherited, fault = _scales_of(file.parent / str(like.value), files_left - 1)
    return _laid_over(inherited, section), None if fault is None else f"{like.value}: {fault}"


def _placed(node: Node, line: int) -> Node:
    place = Place(line, node.place.path)
    if isinstance(node, Leaf):
        return Leaf(place, node.value, node.flawed)
    if isinstance(node, Items):
        return Items(place, tuple(_placed(item, line) for item in node.nodes))
    return Entries(place, {key: _placed(item, line) for key, item in node.nodes.items()}, node.flawed)
