"""Loads a file: text, nodes, scales, types, rules, in this order; reports all mistakes of the file at once.

Settings of the command line, `--set pretraining.tokens=1e5`, are values put over the file's and validated like them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

from steeplechase.configuration.yaml.errors import Keys, Location, Mistake, mistake, refuse
from steeplechase.configuration.yaml.explanations import mistakes_of_rules, mistakes_of_types
from steeplechase.configuration.yaml.nodes import Entries, Items, Leaf, Node, child, plain, read_document, relocated
from steeplechase.configuration.yaml.scales import (
    SCALES_KEY,
    depth_violations,
    documents,
    refuse_unknown_scale,
    split,
    with_inherited_scales,
    with_paths_beside,
    with_released_baseline,
)
from steeplechase.configuration.yaml.text import read_text, unreadable_character
from steeplechase.foundation.errors import ConfigurationError, Violation
from steeplechase.foundation.schema import VARIANT_KEY

ModelT = TypeVar("ModelT", bound=BaseModel)
Rules = Callable[[ModelT], Iterable[Violation]]


@runtime_checkable
class _HasRules(Protocol):
    def violations(self) -> Iterable[Violation]: ...


@dataclass(frozen=True)
class _Validated(Generic[ModelT]):
    """Result of validating one document: a value, or its mistakes."""

    value: ModelT | None
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class ConfigurationFile:
    """A parsed file: its document without a scale (None) and at every scale, and its mistakes."""

    name: str
    document: Entries
    """The entire file, with inherited scales."""
    documents: dict[str | None, Entries]
    mistakes: tuple[Mistake, ...]

    @property
    def keys(self) -> frozenset[str]:
        """The top-level keys, which identify the kind of file."""
        return frozenset(self.document.nodes)

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales in the file's order. Raises ConfigurationError if the file has unreadable values."""
        if self.mistakes:
            refuse(self.mistakes)
        return tuple(name for name in self.documents if name is not None)

    def declaration(
        self,
        model: type[ModelT],
        scale: str | None,
        context: Mapping[str, Any] | None = None,
        rules: Rules[ModelT] | None = None,
    ) -> ModelT:
        """Return the declaration at a scale, or without one; every scale is validated.

        `context` is pydantic's validation context; `rules` yields violations between fields beside the model's own
        `violations`. Raises ConfigurationError with all mistakes by line.
        """
        if scale not in self.documents:
            refuse_unknown_scale(self.name, self.document, str(scale), tuple(filter(None, self.documents)))
        validated = {
            name: _validated(self, model, document, context, rules) for name, document in self.documents.items()
        }
        of_values = _merged_mistakes(validated, scale)
        placed = {(each.line, each.path) for each in of_values}
        mistakes = [*(each for each in self.mistakes if (each.line, each.path) not in placed), *of_values]
        if mistakes:
            refuse(mistakes)
        value = validated[scale].value
        assert value is not None
        return value

    def with_place(self, line: str, scale: str | None) -> str:
        """Return a line that begins with a setting of this file, such as `corpus.path: `, behind file and line."""
        setting, colon, message = line.partition(": ")
        node: Node | None = self.documents[scale]
        for key in setting.split(".") if colon else ():
            node = None if node is None else child(node, key)
        if not colon or node is None:
            return line
        return mistake(self.name, replace(node.location, path=tuple(setting.split("."))), message).text


def read_file(path: Path) -> ConfigurationFile:
    """Return the parsed file.

    Raises MachineError if the file cannot be read, ConfigurationError if it is not a YAML mapping.
    """
    name = str(path)
    written, mistakes = read_document(name, read_text(path))
    placed = with_paths_beside(written, path.parent)
    assert isinstance(placed, Entries)
    document, inheritance_mistakes = with_inherited_scales(path, placed)
    base, overrides, malformed = split(name, document)
    return ConfigurationFile(
        name, document, documents(base, overrides), (*mistakes, *inheritance_mistakes, *malformed)
    )


def load(path: Path, model: type[ModelT], scale: str | None, context: Mapping[str, Any] | None = None) -> ModelT:
    """Return a file's declaration at a scale, or without one. Raises as `read_file` and `declaration`."""
    return read_file(path).declaration(model, scale, context)


def scales(path: Path) -> tuple[str, ...]:
    """Return the names of a file's scales in its order. Raises as `read_file` and `ConfigurationFile.scales`."""
    return read_file(path).scales


def _validated(
    file: ConfigurationFile,
    model: type[ModelT],
    document: Entries,
    context: Mapping[str, Any] | None,
    rules: Rules[ModelT] | None,
) -> _Validated[ModelT]:
    """Validate types, then rules; rules are skipped if the file has unreadable values."""
    document, unknown = with_released_baseline(file.name, document)
    if unknown:
        return _Validated(None, unknown)
    try:
        value = model.model_validate(plain(document), context=context)
    except ValidationError as error:
        return _Validated(None, mistakes_of_types(file.name, model, document, error))
    own = value.violations() if isinstance(value, _HasRules) else ()
    violations = chain(depth_violations(document), own, () if rules is None else rules(value))
    return _Validated(value, () if file.mistakes else mistakes_of_rules(file.name, document, violations))


def _merged_mistakes(validated: dict[str | None, _Validated[ModelT]], scale: str | None) -> list[Mistake]:
    """Return each mistake once, with its scales if the document without a scale does not have it.

    The document without a scale needs to be valid only if it is the requested one.
    """
    scales_of: dict[Mistake, list[str | None]] = defaultdict(list)
    for name, result in validated.items():
        for each in dict.fromkeys(result.mistakes):
            scales_of[each].append(name)
    all_scales = [name for name in validated if name is not None]
    rules_checked = validated[None].value is not None  # False if the types of the document without a scale are wrong
    merged = []
    for each, names in scales_of.items():
        if names == [None] and scale is not None:
            continue
        in_document = None in names and (len(names) > 1 or not all_scales)
        in_scale = each.path.startswith(f"{SCALES_KEY}.")
        at_every_scale = in_document or in_scale or (names == all_scales and not rules_checked)
        suffix = "" if at_every_scale or not each.line else f" ({_at(names)})"
        merged.append(Mistake(each.file, each.line, each.path, each.message + suffix))
    return merged


def _at(names: list[str | None]) -> str:
    named = [name for name in names if name is not None]
    return f"at scale {', '.join(named)}" if named else "without a scale"


FLAG = "--set"
VALUE = "value"
READ_BEFORE = {
    SCALES_KEY: "a scale is chosen by --scale",
    "plugins": "plugins are read before any setting; name them in the file",
}


class _Unusable(Exception):
    """A setting that cannot be applied; the message is the reason."""


def with_settings(file: ConfigurationFile, scale: str | None, settings: Sequence[str]) -> ConfigurationFile:
    """Return the file with settings `PATH=VALUE` put over its document at one scale, in the order given.

    A value is YAML in one line, and takes the place of the file's as a whole. Mistakes of a value, here and in
    validation, name the flag in place of file and line. A setting that is malformed or cannot be applied is a mistake
    of the file, which its validation reports with all others.
    """
    if not settings or scale not in file.documents:
        return file
    document, mistakes = file.documents[scale], list[Mistake]()
    for position, setting in enumerate(settings):
        text, origin = setting.partition("=")[2], f"{FLAG} {setting}"
        try:
            keys = _joined(document, _keys(setting, settings[:position]))
            value, found = _value(origin, keys, text)
            mistakes += found
            document = _put(document, value, keys, origin)
        except _Unusable as unusable:
            mistakes.append(Mistake(origin, 0, "", str(unusable)))
    documents = {**file.documents, scale: document}
    return replace(file, documents=documents, mistakes=(*file.mistakes, *mistakes))


def _keys(setting: str, earlier: Sequence[str]) -> tuple[str, ...]:
    path, equals, text = setting.partition("=")
    keys = tuple(path.split("."))
    if not equals or not all(keys) or not text.strip():
        raise _Unusable("a key and a value are needed, such as pretraining.tokens=1e5")
    if keys[0] in READ_BEFORE:
        raise _Unusable(READ_BEFORE[keys[0]])
    if any(path == other.partition("=")[0] for other in earlier):
        raise _Unusable("this key is set twice")
    return keys


def _joined(node: Node | None, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys, joined where the file has them as one: `convolution.kernel_size` under `design.vary`."""
    if not isinstance(node, Entries) or not keys:
        return keys
    length = next((count for count in range(len(keys), 1, -1) if ".".join(keys[:count]) in node.nodes), 1)
    key = ".".join(keys[:length])
    return (key, *_joined(node.nodes.get(key), keys[length:]))


def _value(origin: str, keys: Keys, text: str) -> tuple[Node, tuple[Mistake, ...]]:
    """Return the value as a node located at the flag, and its recoverable mistakes."""
    unreadable = unreadable_character(text)
    if unreadable is not None:
        raise _Unusable(unreadable.message)
    try:
        document, found = read_document(origin, f"{VALUE}: {text}")
    except ConfigurationError as malformed:
        raise _Unusable("; ".join(line.removeprefix(f"{origin}:1: ") for line in malformed.lines)) from None
    mistakes = tuple(Mistake(origin, 0, "", each.message) for each in found)
    return relocated(document.nodes[VALUE], lambda at: Location(0, (*keys, *at.path[1:]), origin)), mistakes


def _put(document: Entries, value: Node, keys: tuple[str, ...], origin: str, depth: int = 0) -> Entries:
    """Return the document with a value at a path, in place of the one there; missing mappings on the way are made."""
    key, path = keys[depth], keys[: depth + 1]
    if depth + 1 < len(keys):
        inner = _as_mapping(document.nodes.get(key), path, origin)
        value = _put(inner, value, keys, origin, depth + 1)
    return Entries(document.location, {**document.nodes, key: value}, document.flawed)


def _as_mapping(node: Node | None, path: Keys, origin: str) -> Entries:
    """Return a node as a mapping: an option's name alone stands for a mapping with this kind."""
    if isinstance(node, Entries):
        return node
    if node is None or (isinstance(node, Leaf) and node.value is None):
        return Entries(Location(0, path, origin), {})
    if isinstance(node, Leaf) and isinstance(node.value, str):
        return Entries(node.location, {VARIANT_KEY: node})
    dotted = ".".join(map(str, path))
    what = "a list" if isinstance(node, Items) else "a single value"
    raise _Unusable(f"{dotted} is {what} in the file, without keys; set it as a whole: {FLAG} {dotted}=...")


def changed_keys(settings: Sequence[str]) -> Iterator[str]:
    """Yield each setting by the last word of its key, for the name of a results folder."""
    for setting in settings:
        path, _, value = setting.partition("=")
        yield f"{path.rpartition('.')[2]}={value.strip()}"
