"""Loading: text, nodes, scales, types, rules, in that order, and every mistake of the file at once."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

from pydantic import BaseModel, ValidationError

from configuration.yaml.errors import Mistake, refuse
from configuration.yaml.explanations import mistakes_of_rules, mistakes_of_types
from configuration.yaml.inheritance import with_inherited_scales
from configuration.yaml.nodes import Entries, plain
from configuration.yaml.reading import read_document
from configuration.yaml.scales import SCALES_KEY, documents, refuse_unknown, split
from configuration.yaml.text import read_text
from foundation.errors import Violation
from foundation.schema import JsonValue

ModelT = TypeVar("ModelT", bound=BaseModel)


@runtime_checkable
class _HasRules(Protocol):
    def violations(self) -> Iterable[Violation]: ...


@dataclass(frozen=True)
class _File:
    """A file that has been read: its document without a scale (None) and at every scale, and the mistakes so far."""

    name: str
    documents: dict[str | None, Entries]
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class _Judged(Generic[ModelT]):
    """What one document became: a value, or the mistakes that keep it from being one."""

    value: ModelT | None
    mistakes: tuple[Mistake, ...]


def load(path: Path, model: type[ModelT], scale: str | None, context: Mapping[str, Any] | None = None) -> ModelT:
    """Return the file's declaration at a scale, or without one.

    Every scale of the file is validated, whichever is asked for; `context` is pydantic's validation context.
    Raises ConfigurationError with all mistakes by line, or MachineError where the file cannot be read.
    """
    file = _read(path, scale)
    judged = {name: _judge(file, model, document, context) for name, document in file.documents.items()}
    mistakes = [*file.mistakes, *_gathered(judged, scale)]
    if mistakes:
        refuse(mistakes)
    value = judged[scale].value
    assert value is not None
    return value


def scales(path: Path) -> tuple[str, ...]:
    """Return the names of the file's scales in its own order; raises as `load` does for text that cannot be read."""
    return tuple(name for name in _readable(path, None).documents if name is not None)


def resolved_document(path: Path, scale: str | None) -> dict[str, JsonValue]:
    """Return the plain data that a scale stands for, before types: what a ledger keeps to show where it came from."""
    document = plain(_readable(path, scale).documents[scale])
    return cast("dict[str, JsonValue]", _with_lists(document))


def _read(path: Path, scale: str | None) -> _File:
    name = str(path)
    written, mistakes = read_document(name, read_text(path))
    document, not_inherited = with_inherited_scales(path, written)
    base, overrides, malformed = split(name, document)
    if scale is not None:
        refuse_unknown(name, document, scale, tuple(overrides))
    return _File(name, documents(base, overrides), (*mistakes, *not_inherited, *malformed))


def _readable(path: Path, scale: str | None) -> _File:
    file = _read(path, scale)
    if file.mistakes:
        refuse(file.mistakes)
    return file


def _judge(file: _File, model: type[ModelT], document: Entries, context: Mapping[str, Any] | None) -> _Judged[ModelT]:
    """Check types, then the declaration's own rules; rules are not asked of a text that was misread."""
    try:
        value = model.model_validate(plain(document), context=context)
    except ValidationError as error:
        return _Judged(None, mistakes_of_types(file.name, model, document, error))
    if file.mistakes or not isinstance(value, _HasRules):
        return _Judged(value, ())
    return _Judged(value, mistakes_of_rules(file.name, document, value.violations()))


def _gathered(judged: dict[str | None, _Judged[ModelT]], scale: str | None) -> list[Mistake]:
    """Return each mistake once, with the scales it is met at where the document without them is free of it.

    The document without a scale has to be valid only where it is the one asked for.
    """
    met: dict[Mistake, list[str | None]] = defaultdict(list)
    for name, outcome in judged.items():
        for found in dict.fromkeys(outcome.mistakes):
            met[found].append(name)
    named = [name for name in judged if name is not None]
    without = judged[None].value is not None  # False: its types are wrong, and its rules were not asked
    gathered = []
    for found, names in met.items():
        if names == [None] and scale is not None:
            continue
        in_document = None in names and (len(names) > 1 or not named)
        in_scale = found.path.startswith(f"{SCALES_KEY}.")
        plainly = in_document or in_scale or (names == named and not without)
        where = "" if plainly else f" ({_at(names)})"
        gathered.append(Mistake(found.file, found.line, found.path, found.message + where))
    return gathered


def _at(names: list[str | None]) -> str:
    named = [name for name in names if name is not None]
    return f"at scale {', '.join(named)}" if named else "without a scale"


def _with_lists(value: object) -> object:
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, tuple) else value
