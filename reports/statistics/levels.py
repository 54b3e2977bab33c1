"""Factors that the arms of a table vary, and each arm's level of every factor, the baseline's level first.

A factor is a field such as `convolution.kernel_size`, or a component that a model has or lacks. For arms without
declared levels (those of a list, or of ledgers of earlier versions) the factors are the fields that they change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from search_space.candidate import Candidate
from search_space.overrides import absolute_path
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.designs.point import label
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.ledger.records import ArmRow

LevelIndices = tuple[int, ...]
"""Index of the level per factor; 0 is the baseline's level."""


@dataclass(frozen=True)
class Factor:
    """A factor with its levels."""

    name: str
    values: tuple[JsonValue, ...]
    """Levels, the baseline's first."""
    component: bool = False
    """Whether the factor is a component that a model has or lacks."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels as distinct texts."""
        labels = tuple(map(label, self.values))
        return labels if len(set(labels)) == len(labels) else tuple(map(canonical_text, self.values))

    @property
    def reference(self) -> str:
        """The baseline's level as text; empty for components and unknown levels."""
        return "" if self.component or self.values[0] == BASELINE else self.labels[0]

    def at(self, level: int) -> str:
        """Return a level with the factor's name, `heads=2`; for a present component its name only."""
        return self.name if self.component and self.values[level] is True else f"{self.name}={self.labels[level]}"


def factors_of(
    arms: Sequence[ArmRow], baseline: Candidate, chosen: Sequence[str] = ()
) -> tuple[tuple[Factor, ...], dict[str, LevelIndices]] | None:
    """Return the factors and each arm's level indices; `chosen` restricts the factors.

    None without the baseline, or if an arm has no level of a factor because it lacks the option with that field.
    """
    with_levels = [arm for arm in arms if arm.levels]
    level_values = _declared(with_levels, arms, baseline, chosen) if with_levels else _changed(arms, baseline)
    if level_values is None or all(arm.name != BASELINE for arm in arms):
        return None
    baseline_levels, by_arm = level_values
    values = {name: [value] for name, value in baseline_levels.items()}
    for levels in by_arm.values():
        for name, value in levels.items():
            if canonical_text(value) not in map(canonical_text, values[name]):
                values[name].append(value)
    texts = {name: [canonical_text(value) for value in factor_values] for name, factor_values in values.items()}
    indices = {
        arm: tuple(texts[name].index(canonical_text(levels[name])) for name in values)
        for arm, levels in by_arm.items()
    }
    factors = (
        Factor(name, tuple(levels_of_factor), _is_component(name, levels_of_factor, baseline))
        for name, levels_of_factor in values.items()
    )
    return tuple(factors), indices


LevelValues = tuple[dict[str, JsonValue], dict[str, dict[str, JsonValue]]]
"""Levels of the baseline, then of every arm."""


def _declared(
    with_levels: Sequence[ArmRow], arms: Sequence[ArmRow], baseline: Candidate, chosen: Sequence[str]
) -> LevelValues | None:
    names = list(chosen) or list(dict.fromkeys(name for arm in with_levels for name in arm.levels))
    own_levels = next((arm.levels for arm in arms if arm.name == BASELINE), {})
    baseline_levels: dict[str, JsonValue] = {}
    for name in names:
        declared_values = [arm.levels[name] for arm in with_levels if name in arm.levels]
        exists, value = _at(baseline, name)
        if name in own_levels:
            baseline_levels[name] = own_levels[name]
        elif _is_component(name, declared_values, baseline):
            baseline_levels[name] = False
        elif exists:
            baseline_levels[name] = canonical(value) if isinstance(value, Schema) else _plain(value)
        else:
            return None
    by_arm = {BASELINE: baseline_levels}
    for arm in with_levels:
        if any(name not in arm.levels and _touches(arm, name) for name in names):
            return None
        by_arm[arm.name] = {name: arm.levels.get(name, baseline_levels[name]) for name in names}
    return baseline_levels, by_arm


def _changed(arms: Sequence[ArmRow], baseline: Candidate) -> LevelValues:
    changes = {arm.name: fields_changed(arm.changes, baseline) for arm in arms}
    names = sorted({name for own_changes in changes.values() for name in own_changes})
    baseline_levels: dict[str, JsonValue] = dict.fromkeys(names, BASELINE)
    return baseline_levels, {arm: baseline_levels | own_changes for arm, own_changes in changes.items()}


def _is_component(name: str, values: Sequence[JsonValue], baseline: Candidate) -> bool:
    return all(isinstance(value, bool) for value in values) and not isinstance(_at(baseline, name)[1], bool)


def _touches(arm: ArmRow, name: str) -> bool:
    return any(name == path or name.startswith(f"{path}.") or path.startswith(f"{name}.") for path in arm.changes)


def fields_changed(changes: Mapping[str, JsonValue], baseline: Candidate) -> dict[str, JsonValue]:
    """Return the changes by field; for an option of the baseline's kind, only the fields that differ."""
    return {name: value for path, change in changes.items() for name, value in _fields(path, change, baseline)}


def _fields(path: str, change: JsonValue, baseline: Candidate) -> Iterator[tuple[str, JsonValue]]:
    _, before = _at(baseline, path)
    if isinstance(before, Schema) and isinstance(change, dict) and change.get("kind") == _kind(before):
        try:
            after = type(before).model_validate_json(canonical_text(change))
        except ValidationError:
            yield path, change
        else:
            yield from _differing(path, after, before)
    else:
        yield path, change


def _differing(path: str, after: object, before: object) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(after, Schema) and type(after) is type(before):
        for name in type(after).model_fields:
            if getattr(after, name) != getattr(before, name):
                yield from _differing(f"{path}.{name}", getattr(after, name), getattr(before, name))
    else:
        yield path, canonical(after) if isinstance(after, Schema) else _plain(after)


def fields_by_path(candidate: Candidate) -> dict[str, JsonValue]:
    """Return all values of a candidate by dotted path, defaults included."""
    return dict(_flat(candidate.model_dump(mode="json"), ""))


def _flat(document: Mapping[str, JsonValue], above: str) -> Iterator[tuple[str, JsonValue]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _kind(option: Schema) -> object:
    return getattr(option, "kind", None)


def _plain(value: object) -> JsonValue:
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _at(candidate: Candidate, path: str) -> tuple[bool, object]:
    """Return whether the candidate has a field at the path, with its value."""
    value: object = candidate
    for name in absolute_path(path):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, Schema) and name in type(value).model_fields:
            value = getattr(value, name)
        else:
            return False, None
    return True, value
