"""Scales, and what a file takes from others: inherited scales, a released baseline, paths beside the file."""

import re
from collections.abc import Iterator, Set
from dataclasses import replace
from pathlib import Path

from search_space.layer_lists import DEPTHS, contradictory_depths
from search_space.released.models import PRESETS, Preset
from steeplechase.configuration.yaml.errors import Location, Mistake, mistake, refuse, shown
from steeplechase.configuration.yaml.explanations import NAME_PATTERN, NAME_RULE
from steeplechase.configuration.yaml.nodes import (
    Entries,
    Items,
    Leaf,
    Node,
    child,
    read_document,
    relocated,
    with_leaves,
)
from steeplechase.configuration.yaml.text import read_text
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import UserError, Violation, did_you_mean
from steeplechase.foundation.schema import VARIANT_KEY, JsonValue
from steeplechase.tasks.data_folder import PATHS

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
        return (
            base,
            {},
            () if isinstance(section, Leaf) and section.flawed else (mistake(file, section.location, message),),
        )
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
    """Raise ConfigurationError for a scale that the file has not."""
    location = document.nodes[SCALES_KEY].location if SCALES_KEY in document.nodes else document.location
    choices = f"this file has {', '.join(known)}" if known else "this file has no scales"
    refuse([mistake(file, location, f"{scale!r} is not a scale; {choices}.{did_you_mean(scale, known)}")])


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
    line = like.location.line
    at_like = {name: relocated(node, lambda at: Location(line, at.path)) for name, node in inherited.items()}
    scales = Entries(section.location, _with_own_scales(at_like, section), section.flawed)
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
    section = child(with_paths_beside(document, file.parent), SCALES_KEY)
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


BASELINE_KEY = "baseline"
DESCRIPTION = "A released model whose architecture, objective and recipe the file's own values are merged over."


def with_released_baseline(file: str, document: Entries) -> tuple[Entries, tuple[Mistake, ...]]:
    """Return the document with the model that its baseline is like, located at the line of `like`."""
    baseline = document.nodes.get(BASELINE_KEY)
    like = None if baseline is None else child(baseline, LIKE_KEY)
    if not isinstance(baseline, Entries) or like is None:
        return document, ()
    name = like.value if isinstance(like, Leaf) else None
    if not isinstance(name, str) or name not in PRESETS:
        return document, (mistake(file, like.location, _refusal(name)),)
    own = {key: node for key, node in baseline.nodes.items() if key != LIKE_KEY}
    written = child(baseline, "architecture")
    programs = {key for key in DEPTHS if written is not None and child(written, key) is not None}
    declared = _declared(PRESETS[name], programs)
    released = located(declared, Location(like.location.line, (BASELINE_KEY,), like.location.origin))
    whole = merged(released, Entries(baseline.location, own, baseline.flawed))
    return Entries(document.location, {**document.nodes, BASELINE_KEY: whole}, document.flawed), ()


def depth_violations(document: Entries) -> Iterator[Violation]:
    """Yield a number of blocks beside a layer program of another: of a baseline, a candidate or an architecture."""
    for place in ((BASELINE_KEY, "architecture"), ("architecture",), ()):
        node: Node | None = document
        for key in place:
            node = None if node is None else child(node, key)
        if isinstance(node, Entries):
            fields = {key: each.value for key, each in node.nodes.items() if isinstance(each, Leaf)}
            yield from (Violation((*place, depth), message) for depth, message in contradictory_depths(fields))


def _refusal(name: object) -> str:
    if not isinstance(name, str):
        return "the name of a released model is needed, such as convbert-small"
    known = did_you_mean(name, PRESETS) or f" Known: {', '.join(PRESETS)}"
    return f"{shown(name)} is not a released model.{known}"


def like_schema() -> dict[str, JsonValue]:
    """Return the schema of `like` for editors."""
    return {"type": "string", "enum": [*PRESETS], "description": DESCRIPTION}


def _declared(preset: Preset, programs: Set[str]) -> JsonValue:
    """Return what the model sets; a layer program, its own or one of `programs` in the file, stands for its depth."""
    declared = canonical(preset.candidate)
    architecture = declared.get("architecture")
    if isinstance(architecture, dict):
        for layers, depth in DEPTHS.items():
            if layers in architecture or layers in programs:
                architecture.pop(depth, None)
    if not preset.has_objective:
        declared.pop("objective", None)
    return declared


def located(value: JsonValue, location: Location) -> Node:
    """Return plain data as a node of a file, every part at one line."""
    if isinstance(value, dict):
        return Entries(location, {key: located(item, location.under(key)) for key, item in value.items()})
    if isinstance(value, list):
        return Items(location, tuple(located(item, location.under(place)) for place, item in enumerate(value)))
    return Leaf(location, value)


OF_DATA = PATHS | {"paths", "data"}
"""Keys whose text, or each text of whose list, is the path of a file or a folder."""


def with_paths_beside(document: Node, folder: Path) -> Node:
    """Return a document whose paths begin with the folder where it has the file and the working directory has not."""

    def placed(key: str, leaf: Leaf) -> Leaf:
        if key in OF_DATA and isinstance(leaf.value, str) and _is_beside(leaf.value, folder):
            return replace(leaf, value=str(folder / leaf.value))
        return leaf

    return with_leaves(document, placed)


def _is_beside(path: str, folder: Path) -> bool:
    try:
        return path != "" and not Path(path).exists() and (folder / path).exists()
    except (OSError, ValueError):  # no name of a file
        return False
