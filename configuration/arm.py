"""An arm: a named candidate with its changes from the baseline."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foundation.schema import JsonValue, canonical, canonical_text
from search_space.candidate import Candidate
from search_space.overrides import apply, difference

BASELINE = "baseline"


@dataclass(frozen=True)
class Arm:
    """One row of a table: its name, its candidate, and how that differs from the baseline."""

    name: str
    candidate: Candidate
    changes: Mapping[str, JsonValue]
    levels: Mapping[str, JsonValue] = field(default_factory=dict)
    """Its level of every factor of the designs that ask for it: by path a value, by component whether it is there.

    The baseline has levels where it is a point of a design. A field that the arm's option lacks is left out.
    """
    matches: str | None = None
    """The arm whose difference in budget this one is free of; of several that share it, the first."""
    matched_arm: str | None = None
    """The arm that is this one at the baseline's budget; its own name where it has that budget."""
    matched_spend: float | None = None
    """What the budget-matched copy spends, as a share of the baseline's budget."""
    tuning_trial_of: str | None = None
    """The arm for which this one is tried in tuning; it is no row of a table."""
    tuned_from: str | None = None
    """The arm that this one is at the recipe that tuning has chosen for it."""

    @property
    def identity(self) -> str:
        """The candidate's canonical text: equal for equal candidates, whatever they are called."""
        return canonical_text(canonical(self.candidate))


def baseline_arm(baseline: Candidate) -> Arm:
    """Return the arm that every other one is compared with."""
    return Arm(BASELINE, baseline, {})


def changed_arm(name: str, baseline: Candidate, changes: Mapping[str, Any]) -> Arm:
    """Return the arm that the changes lead to. Raises InvalidOverride."""
    candidate = apply(baseline, changes)
    return Arm(name, candidate, difference(baseline, candidate))
