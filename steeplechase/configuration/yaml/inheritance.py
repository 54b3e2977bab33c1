"""Inherited scales: `scales: { like: table2.yaml }` merges the file's own scales over those of another file."""

from pathlib import Path

from steeplechase.configuration.yaml.errors import Location, Mistake, mistake
from steeplechase.configuration.yaml.nodes import Entries, Items, Leaf, Node
from steeplechase.configuration.yaml.reading import read_document
from steeplechase.configuration.yaml.scales import SCALES_KEY, merged
from steeplechase.configuration.yaml.text import read_text
from steeplechase.foundation.errors import UserError

LIKE_KEY = "like"
FILES_AT_MOST = 4
"""Maximum length of a chain of `like`: table4 inherits table3's scales, and table3 inherits table2's."""


def with_inherited_scales(file: Path, document: Entries) -> tuple[Entries, tuple[Mistake, ...]]:
    """Return the document with its inherited scales, each inherited value located at the line of `like`."""
    section = document.nodes.get(SCALES_KEY)
    like = _like(section)
    if not isinstance(section, Entries) or like is None:
        return document, ()
    inherited, fault = _scales_of(file.parent / str(like.value), FILES_AT_MOST)
    mistakes = () if fault is None else (mistake(str(file), like.location, f"{like.value}: {fault}"),)
    located: dict[str, Node] = {name: _located(node, like.location.line) for name, node in inherited.items()}
    scales = Entries(section.location, _with_own_scales(located, section), section.flawed)
    return Entries(document.location, {**document.nodes, SCALES_KEY: scales}, document.flawed), mistakes


def _like(section: Node | None) -> Leaf | None:
    like = section.nodes.get(LIKE_KEY) if isinstance(section, Entries) else None
    return like if isinstance(like, Leaf) and isinstance(like.value, str) else None


def _with_own_scales(inherited: dict[str, Node], section: Entries) -> dict[str, Node]:
    """Return the union of inherited and own scales, own values over inherited ones."""
    scales = dict(inherited)
    for name, node in section.nodes.items():
        if name != LIKE_KEY:
            scales[name] = merged(scales[name], node) if name in scales else node
    return scales


def _scales_of(file: Path, files_left: int) -> tuple[dict[str, Node], str | None]:
    """Return a file's scales, including inherited ones, and the reason if there are none."""
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
            f"its scales are inherited through more than {FILES_AT_MOST} files; name the file that has them",
        )
    inherited, fault = _scales_of(file.parent / str(like.value), files_left - 1)
    return _with_own_scales(inherited, section), None if fault is None else f"{like.value}: {fault}"


def _located(node: Node, line: int) -> Node:
    location = Location(line, node.location.path)
    if isinstance(node, Leaf):
        return Leaf(location, node.value, node.flawed)
    if isinstance(node, Items):
        return Items(location, tuple(_located(item, line) for item in node.nodes))
    return Entries(location, {key: _located(item, line) for key, item in node.nodes.items()}, node.flawed)
