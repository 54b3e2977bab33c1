"""Scales of another file: `scales: { like: table2.yaml }` stands for that file's scales, own ones laid over them."""

from pathlib import Path

from runners.loading.mistakes import Mistake, Place, mistake
from runners.loading.nodes import Entries, Items, Leaf, Node
from runners.loading.reading import read_document
from runners.loading.scaling import SCALES_KEY, merged
from runners.loading.text import read_text
from search_space.refusals import Refusal

LIKE_KEY = "like"


def with_inherited_scales(file: Path, document: Entries) -> tuple[Entries, tuple[Mistake, ...]]:
    """Return the document with the scales that it names, each value at the line that names them."""
    section = document.nodes.get(SCALES_KEY)
    like = section.nodes.get(LIKE_KEY) if isinstance(section, Entries) else None
    if not isinstance(section, Entries) or not isinstance(like, Leaf) or not isinstance(like.value, str):
        return document, ()
    own = {name: node for name, node in section.nodes.items() if name != LIKE_KEY}
    inherited, fault = _scales_of(file.parent / like.value)
    found = () if fault is None else (mistake(str(file), like.place, f"{like.value}: {fault}"),)
    scales: dict[str, Node] = {name: _placed(node, like.place.line) for name, node in inherited.items()}
    for name, node in own.items():
        scales[name] = merged(scales[name], node) if name in scales else node
    whole = Entries(section.place, scales, section.flawed)
    return Entries(document.place, {**document.nodes, SCALES_KEY: whole}, document.flawed), found


def _scales_of(file: Path) -> tuple[dict[str, Node], str | None]:
    """Return a file's own scales, or why there are none to be had."""
    try:
        document, mistakes = read_document(str(file), read_text(file))
    except Refusal as refusal:
        return {}, refusal.lines[0].removeprefix(f"{file}: ")
    section = document.nodes.get(SCALES_KEY)
    if mistakes:
        return {}, f"line {mistakes[0].line}: {mistakes[0].message}"
    if not isinstance(section, Entries) or not section.nodes:
        return {}, "this file has no scales"
    if isinstance(section.nodes.get(LIKE_KEY), Leaf):
        return {}, "its scales are another file's; name that one"
    return section.nodes, None


def _placed(node: Node, line: int) -> Node:
    place = Place(line, node.place.path)
    if isinstance(node, Leaf):
        return Leaf(place, node.value, node.flawed)
    if isinstance(node, Items):
        return Items(place, tuple(_placed(item, line) for item in node.nodes))
    return Entries(place, {key: _placed(item, line) for key, item in node.nodes.items()}, node.flawed)
