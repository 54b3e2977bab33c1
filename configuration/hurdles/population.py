"""The trials of one replicate of a search as hurdles see them, with their values at the rungs so far."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from configuration.hurdles.decision import HurdleDecision


class State(StrEnum):
    """Where a trial is."""

    MOVING = "moving"
    """Training to the next rung."""
    WAITING = "waiting"
    """At a rung, for a decision."""
    DONE = "done"
    """No further decision: stopped, diverged, failed, past every hurdle, or exempt."""


@dataclass(frozen=True)
class TrialView:
    """One trial as a hurdle sees it. All values are such that smaller is better."""

    name: str
    cohort: int
    state: State
    values: tuple[float | None, ...] = ()
    """At rung 0, 1, …, as far as it came; None where there was no number."""
    verdicts: tuple[HurdleDecision, ...] = ()
    """At hurdle 0, 1, …, as far as there is a decision."""
    exempt: bool = False
    """The baseline: never stopped, so that every candidate has something to be compared with."""
    curve: tuple[tuple[int, float], ...] = ()
    """Tokens seen and the value then, between the rungs too."""
    settled: int = 0
    """How many points of the curve were there at the last rung; the others may or may not have come yet."""
    features: tuple[float, ...] = ()
    """Numbers that describe the candidate; as many for each."""

    @property
    def level(self) -> int:
        """The hurdle that it is at or trains to, counted from 0."""
        return len(self.verdicts)

    @property
    def value(self) -> float | None:
        """Its value at the hurdle that it is at, None where that is no finite number."""
        return finite(self.values[self.level])

    def may_still_reach(self, level: int) -> bool:
        """Whether its value at a rung is still to come."""
        return self.state is not State.DONE and len(self.values) <= level

    def value_at(self, level: int) -> float | None:
        """Return its finite value at a rung, None where it has none."""
        return finite(self.values[level]) if len(self.values) > level else None


@dataclass(frozen=True)
class Population:
    """All trials, in the order in which they were declared, whatever the order of arrival."""

    trials: tuple[TrialView, ...]
    tokens: int = 0
    """The whole budget of a trial."""

    @property
    def waiting(self) -> Iterator[TrialView]:
        """The trials that wait for a decision."""
        return (trial for trial in self.trials if trial.state is State.WAITING)

    def cohort(self, number: int) -> tuple[TrialView, ...]:
        """Return the members of a cohort that hurdles decide on."""
        return tuple(trial for trial in self.trials if trial.cohort == number and not trial.exempt)


def finite(value: float | None) -> float | None:
    """Return a finite number as it is and None for everything else."""
    return value if value is not None and math.isfinite(value) else None
