"""Pairs of arms that differ in one factor only, from the arms alone: plans name them too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.statistics.levels import fields_changed
from search_space.candidate import Candidate
from steeplechase.configuration.arm import Arm
from steeplechase.foundation.schema import JsonValue

Changes = Mapping[str, JsonValue]


@dataclass(frozen=True)
class IsolatedPair:
    """Two arms: `arm` has a change or a component that `reference` lacks, and all other fields are equal."""

    arm: str
    reference: str
    path: str
    """The factor's name in the design, else the field that differs: `convolution.kernel_size`."""


def isolated_pairs(arms: Sequence[Arm], baseline: Candidate) -> tuple[IsolatedPair, ...]:
    """Return every pair in the order of the arms; the reference is never the baseline."""
    fields = {arm.name: fields_changed(arm.changes, baseline) for arm in arms}
    return tuple(_pairs(arms, fields))


def _pairs(arms: Sequence[Arm], fields: Mapping[str, Changes]) -> Iterator[IsolatedPair]:
    for arm in arms:
        for reference in arms:
            if not reference.changes:
                continue
            factors, field = _factors(arm, reference), _extra(fields[arm.name], fields[reference.name])
            option = None if len(factors) > 1 else _extra(arm.changes, reference.changes)
            if field is not None or option is not None or _adds_component(arm, reference, factors):
                yield IsolatedPair(
                    arm.name, reference.name, factors[0] if len(factors) == 1 else field or option or ""
                )


def _extra(changes: Changes, reference: Changes) -> str | None:
    """Return the only path that `changes` has and `reference` lacks; None if other fields differ."""
    extra = changes.keys() - reference.keys()
    more = len(changes) == len(reference) + 1
    if len(extra) != 1 or not more or any(changes[path] != reference[path] for path in reference):
        return None
    return next(iter(extra))


def _adds_component(arm: Arm, reference: Arm, factors: Sequence[str]) -> bool:
    """Return whether an arm is another of the same designs with one more component, of as many changes as it has."""
    if len(factors) != 1 or arm.levels.keys() != reference.levels.keys():
        return False
    there = arm.levels[factors[0]] is True and reference.levels[factors[0]] is False
    return there and all(change in arm.changes.items() for change in reference.changes.items())


def _factors(arm: Arm, reference: Arm) -> list[str]:
    """Return the factors of the designs of both arms in which they differ; none for arms without levels in common."""
    names = [name for name in arm.levels if name in reference.levels]
    return [name for name in names if arm.levels[name] != reference.levels[name]]
