"""Loads a file: text, nodes, scales, types, rules, in this order; reports all mistakes of the file at once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

from steeplechase.configuration.yaml.errors import Mistake, mistake, refuse
from steeplechase.configuration.yaml.explanations import mistakes_of_rules, mistakes_of_types
from steeplechase.configuration.yaml.nodes import Entries, Node, child, plain, read_document
from steeplechase.configuration.yaml.scales import (
    SCALES_KEY,
    documents,
    refuse_unknown_scale,
    split,
    with_inherited_scales,
    with_paths_beside,
    with_released_baseline,
)
from steeplechase.configuration.yaml.text import read_text
from steeplechase.foundation.errors import Violation

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
        self._refuse_mistakes()
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
        self._refuse_unknown(scale)
        validated = {
            name: _validated(self, model, document, context, rules) for name, document in self.documents.items()
        }
        mistakes = [*self.mistakes, *_merged_mistakes(validated, scale)]
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

    def _refuse_unknown(self, scale: str | None) -> None:
        if scale is not None:
            known = tuple(name for name in self.documents if name is not None)
            refuse_unknown_scale(self.name, self.document, scale, known)

    def _refuse_mistakes(self) -> None:
        if self.mistakes:
            refuse(self.mistakes)


def read_file(path: Path) -> ConfigurationFile:
    """Return the parsed file.

    Raises MachineError if the file cannot be read, ConfigurationError if it is not a YAML mapping.
    """
    name = str(path)
    written, mistakes = read_document(name, read_text(path))
    written = with_paths_beside(written, path.parent)
    document, inheritance_mistakes = with_inherited_scales(path, written)
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
    violations = chain(_own_rules(value), () if rules is None else rules(value))
    return _Validated(value, () if file.mistakes else mistakes_of_rules(file.name, document, violations))


def _own_rules(value: BaseModel) -> Iterable[Violation]:
    return value.violations() if isinstance(value, _HasRules) else ()


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
