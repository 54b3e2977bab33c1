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
    """One row of a table: its name, its candidate, and the candidate's changes from the baseline."""

    name: str
    candidate: Candidate
    changes: Mapping[str, JsonValue]
    levels: Mapping[str, JsonValue] = field(default_factory=dict)
    """Levels of the factors of its designs: by path a value, by component whether it is present.

    The baseline has levels if it is a point of a design. A field that the arm's option lacks has no level.
    """
    matches: str | None = None
    """Name of the arm that this is the budget-matched copy of (itself if it already has the baseline's budget); the
    first if several share the copy."""
    matched_arm: str | None = None
    """Name of this arm's budget-matched copy; its own name if it already has the baseline's budget."""
    matched_spend: float | None = None
    """Budget of the budget-matched copy, as a share of the baseline's."""
    tuning_trial_of: str | None = None
    """Of a tuning trial: the arm that is tuned. Such an arm is not a row of a table."""
    tuned_from: str | None = None
    """Of an arm at its tuned recipe: the arm at the shared recipe."""

    @property
    def identity(self) -> str:
        """The candidate's canonical text: equal for equal candidates, independent of their names."""
        return canonical_text(canonical(self.candidate))


def baseline_arm(baseline: Candidate) -> Arm:
    """Return the baseline as an arm."""
    return Arm(BASELINE, baseline, {})


def changed_arm(name: str, baseline: Candidate, changes: Mapping[str, Any]) -> Arm:
    """Return the baseline with changes as an arm. Raises InvalidOverride."""
    candidate = apply(baseline, changes)
    return Arm(name, candidate, difference(baseline, candidate))
