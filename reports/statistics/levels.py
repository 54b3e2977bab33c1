"""Levels: which factors the arms of a table vary, and each arm's level of each, the baseline's first.

A factor is what the design varied: a path such as `convolution.kernel_size`, or a component that a model has or
lacks. Arms that no design gave levels (a list, ledgers from before there were levels) are read by the fields that
they change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from configuration.arm import BASELINE
from configuration.designs.point import label
from foundation.schema import JsonValue, Schema, canonical, canonical_text
from ledger.records import ArmRow
from search_space.candidate import Candidate
from search_space.overrides import absolute_path

Place = tuple[int, ...]
"""A level per factor, 0 being the baseline's."""


@dataclass(frozen=True)
class Factor:
    """One thing that a design varied."""

    name: str
    values: tuple[JsonValue, ...]
    """The baseline's first."""
    component: bool = False
    """Whether it is a component, which is there or not."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels as text, each another one."""
        labels = tuple(map(label, self.values))
        return labels if len(set(labels)) == len(labels) else tuple(map(canonical_text, self.values))

    @property
    def reference(self) -> str:
        """The baseline's level as text; nothing where it is the lack of a component, or is not known."""
        return "" if self.component or self.values[0] == BASELINE else self.labels[0]

    def at(self, level: int) -> str:
        """Return a level with the factor's name: `heads=2`, of a component its name alone."""
        return self.name if self.component and self.values[level] is True else f"{self.name}={self.labels[level]}"


def factors_of(
    arms: Sequence[ArmRow], baseline: Candidate, chosen: Sequence[str] = ()
) -> tuple[tuple[Factor, ...], dict[str, Place]] | None:
    """Return the factors and each arm's place among their levels; `chosen` leaves other factors aside.

    None where the baseline is not there, or an arm has no level of a factor: a field of an option that it lacks.
    """
    levelled = [arm for arm in arms if arm.levels]
    reading = _declared(levelled, arms, baseline, chosen) if levelled else _changed(arms, baseline)
    if reading is None or all(arm.name != BASELINE for arm in arms):
        return None
    first, by_arm = reading
    values = {name: [value] for name, value in first.items()}
    for levels in by_arm.values():
        for name, value in levels.items():
            if canonical_text(value) not in map(canonical_text, values[name]):
                values[name].append(value)
    texts = {name: [canonical_text(value) for value in of_factor] for name, of_factor in values.items()}
    places = {
        arm: tuple(texts[name].index(canonical_text(levels[name])) for name in values)
        for arm, levels in by_arm.items()
    }
    factors = (Factor(name, tuple(each), _is_component(name, each, baseline)) for name, each in values.items())
    return tuple(factors), places


Reading = tuple[dict[str, JsonValue], dict[str, dict[str, JsonValue]]]
"""The baseline's levels, then every arm's."""


def _declared(
    levelled: Sequence[ArmRow], arms: Sequence[ArmRow], baseline: Candidate, chosen: Sequence[str]
) -> Reading | None:
    names = list(chosen) or list(dict.fromkeys(name for arm in levelled for name in arm.levels))
    own = next((arm.levels for arm in arms if arm.name == BASELINE), {})
    first: dict[str, JsonValue] = {}
    for name in names:
        known = [arm.levels[name] for arm in levelled if name in arm.levels]
        there, value = _at(baseline, name)
        if name in own:
            first[name] = own[name]
        elif _is_component(name, known, baseline):
            first[name] = False
        elif there:
            first[name] = canonical(value) if isinstance(value, Schema) else _plain(value)
        else:
            return None
    by_arm = {BASELINE: first}
    for arm in levelled:
        if any(name not in arm.levels and _touches(arm, name) for name in names):
            return None
        by_arm[arm.name] = {name: arm.levels.get(name, first[name]) for name in names}
    return first, by_arm


def _changed(arms: Sequence[ArmRow], baseline: Candidate) -> Reading:
    changes = {arm.name: fields_changed(arm.changes, baseline) for arm in arms}
    names = sorted({name for of_arm in changes.values() for name in of_arm})
    first: dict[str, JsonValue] = dict.fromkeys(names, BASELINE)
    return first, {arm: first | of_arm for arm, of_arm in changes.items()}


def _is_component(name: str, values: Sequence[JsonValue], baseline: Candidate) -> bool:
    return all(isinstance(value, bool) for value in values) and not isinstance(_at(baseline, name)[1], bool)


def _touches(arm: ArmRow, name: str) -> bool:
    return any(name == path or name.startswith(f"{path}.") or path.startswith(f"{name}.") for path in arm.changes)


def fields_changed(changes: Mapping[str, JsonValue], baseline: Candidate) -> dict[str, JsonValue]:
    """Return the changes field by field: of an option of the baseline's own kind, the fields that differ."""
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


def _kind(option: Schema) -> object:
    return getattr(option, "kind", None)


def _plain(value: object) -> JsonValue:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _at(candidate: Candidate, path: str) -> tuple[bool, object]:
    """Return whether the candidate has a field at the path, and its value."""
    value: object = candidate
    for name in absolute_path(path):
        if not isinstance(value, Schema) or name not in type(value).model_fields:
            return False, None
        value = getattr(value, name)
    return True, value
