"""An arm: a named candidate with its changes from the baseline."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from search_space.candidate import Candidate
from search_space.change import ImpossibleChange, apply, difference
from search_space.declaration import JsonValue, canonical, canonical_text
from search_space.violation import Violation

BASELINE = "baseline"


@dataclass(frozen=True)
class Arm:
    """One row of a table: its name, its candidate, and how that differs from the baseline."""

    name: str
    candidate: Candidate
    changes: Mapping[str, JsonValue]

    @property
    def identity(self) -> str:
        """The candidate's canonical text: equal for equal candidates, whatever they are called."""
        return canonical_text(canonical(self.candidate))


def baseline_arm(baseline: Candidate) -> Arm:
    """Return the arm that every other one is compared with."""
    return Arm(BASELINE, baseline, {})


def changed_arm(name: str, baseline: Candidate, changes: Mapping[str, Any]) -> Arm:
    """Return the arm that the changes lead to. Raises ImpossibleChange."""
    candidate = apply(baseline, changes)
    return Arm(name, candidate, difference(baseline, candidate))


def violations_of(
    baseline: Candidate, named_changes: Iterable[tuple[str, tuple[str | int, ...], Mapping[str, Any]]]
) -> Iterator[Violation]:
    """Yield what is wrong with arms given as (name, place in the document, changes): impossible, idle or repeated."""
    seen = {baseline_arm(baseline).identity: BASELINE}
    for name, place, changes in named_changes:
        try:
            arm = changed_arm(name, baseline, changes)
        except ImpossibleChange as impossible:
            yield from (violation.under(*place) for violation in impossible.violations)
            continue
        twin = seen.get(arm.identity)
        if twin == BASELINE:
            yield Violation(place, f"{name} changes nothing: it is the baseline")
        elif twin == name:
            yield Violation(place, f"{name} stands twice")
        elif twin is not None:
            yield Violation(place, f"{name} is the same candidate as {twin}")
        elif name in seen.values():
            yield Violation(place, f"{name} would name two candidates")
        seen.setdefault(arm.identity, name)
