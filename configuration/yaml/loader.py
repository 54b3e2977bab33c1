"""Loading: text, nodes, scales, types, rules, in that order, and every mistake of the file at once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

from configuration.yaml.errors import Mistake, refuse
from configuration.yaml.explanations import mistakes_of_rules, mistakes_of_types
from configuration.yaml.inheritance import with_inherited_scales
from configuration.yaml.nodes import Entries, plain
from configuration.yaml.reading import read_document
from configuration.yaml.scales import SCALES_KEY, documents, refuse_unknown, split
from configuration.yaml.text import read_text
from foundation.errors import Violation

ModelT = TypeVar("ModelT", bound=BaseModel)
Rules = Callable[[ModelT], Iterable[Violation]]


@runtime_checkable
class _HasRules(Protocol):
    def violations(self) -> Iterable[Violation]: ...


@dataclass(frozen=True)
class _Judged(Generic[ModelT]):
    """What one document became: a value, or the mistakes that keep it from being one."""

    value: ModelT | None
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class ConfigurationFile:
    """A file that has been read once: its document without a scale (None) and at every scale, and its mistakes."""

    name: str
    document: Entries
    """Everything in the file, with the scales that it has from another one."""
    documents: dict[str | None, Entries]
    mistakes: tuple[Mistake, ...]

    @property
    def keys(self) -> frozenset[str]:
        """The keys at the top of the file, which tell one kind of file from another."""
        return frozenset(self.document.nodes)

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales in the file's own order. Raises ConfigurationError where the file has unreadable values."""
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

        `context` is pydantic's validation context, `rules` yields what the values break together: the model's own
        `violations` by default. Raises ConfigurationError with all mistakes by line.
        """
        self._refuse_unknown(scale)
        judged = {name: _judge(self, model, document, context, rules) for name, document in self.documents.items()}
        mistakes = [*self.mistakes, *_gathered(judged, scale)]
        if mistakes:
            refuse(mistakes)
        value = judged[scale].value
        assert value is not None
        return value

    def _refuse_unknown(self, scale: str | None) -> None:
        if scale is not None:
            known = tuple(name for name in self.documents if name is not None)
            refuse_unknown(self.name, self.document, scale, known)

    def _refuse_mistakes(self) -> None:
        if self.mistakes:
            refuse(self.mistakes)


def read_file(path: Path) -> ConfigurationFile:
    """Return a file's documents.

    Raises MachineError where the file cannot be read, ConfigurationError where it is no YAML mapping.
    """
    name = str(path)
    written, mistakes = read_document(name, read_text(path))
    document, not_inherited = with_inherited_scales(path, written)
    base, overrides, malformed = split(name, document)
    return ConfigurationFile(name, document, documents(base, overrides), (*mistakes, *not_inherited, *malformed))


def load(path: Path, model: type[ModelT], scale: str | None, context: Mapping[str, Any] | None = None) -> ModelT:
    """Return a file's declaration at a scale, or without one. Raises what reading it and declaring it raise."""
    return read_file(path).declaration(model, scale, context)


def scales(path: Path) -> tuple[str, ...]:
    """Return the names of a file's scales in its own order. Raises what reading it raises."""
    return read_file(path).scales


def _judge(
    file: ConfigurationFile,
    model: type[ModelT],
    document: Entries,
    context: Mapping[str, Any] | None,
    rules: Rules[ModelT] | None,
) -> _Judged[ModelT]:
    """Check types, then the declaration's own rules; rules are not asked of a text that was misread."""
    try:
        value = model.model_validate(plain(document), context=context)
    except ValidationError as error:
        return _Judged(None, mistakes_of_types(file.name, model, document, error))
    rules = rules or _own_rules
    return _Judged(value, () if file.mistakes else mistakes_of_rules(file.name, document, rules(value)))


def _own_rules(value: BaseModel) -> Iterable[Violation]:
    return value.violations() if isinstance(value, _HasRules) else ()


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
