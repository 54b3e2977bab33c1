"""The trials of one replicate of a search, with their values at the rungs so far: the input of a hurdle."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class HurdleDecision:
    """Whether the trial clears the hurdle, its value, the threshold, and the trials that the threshold is from."""

    cleared: bool
    value: float | None
    threshold: float | None
    reference_trials: tuple[str, ...] = ()


class State(StrEnum):
    """State of a trial."""

    MOVING = "moving"
    """Training to the next rung."""
    WAITING = "waiting"
    """At a rung, for a decision."""
    DONE = "done"
    """No further decision: stopped, diverged, failed, past the last hurdle, or exempt."""


@dataclass(frozen=True, slots=True)
class TrialView:
    """One trial, as input of a hurdle. Smaller values are better."""

    name: str
    cohort: int
    state: State
    values: tuple[float | None, ...] = ()
    """At rungs 0, 1, … that it has reached; None if there is no number."""
    decisions: tuple[HurdleDecision, ...] = ()
    """At hurdles 0, 1, … that have decided on it."""
    final: float | None = None
    """The loss at the end of its training, None before and without a finite one."""
    exempt: bool = False
    """True for the baseline, which is never stopped, since every candidate is compared with it."""

    @property
    def level(self) -> int:
        """Number of the hurdle at which it waits or to which it trains, from 0."""
        return len(self.decisions)

    @property
    def value(self) -> float | None:
        """Its value at the current hurdle, None if that is not finite."""
        return finite(self.values[self.level])

    def may_still_reach(self, level: int) -> bool:
        """Whether it may still get a value at a rung."""
        return self.state is not State.DONE and len(self.values) <= level

    def value_at(self, level: int) -> float | None:
        """Return its value at a rung, None if it has no finite one."""
        return finite(self.values[level]) if len(self.values) > level else None


@dataclass(frozen=True)
class Population:
    """All trials, in the order in which they were declared, independent of the order of arrival."""

    trials: tuple[TrialView, ...]

    @property
    def waiting(self) -> Iterator[TrialView]:
        """The trials that wait for a decision."""
        return (trial for trial in self.trials if trial.state is State.WAITING)

    @property
    def decidable_in_order(self) -> Iterator[tuple[TrialView, list[TrialView]]]:
        """Each waiting trial, with those declared up to it, once all of them have reached its rung or ended."""
        candidates = [trial for trial in self.trials if not trial.exempt]
        reached_by_all = sys.maxsize  # rungs of every trial so far that has not ended
        for position, trial in enumerate(candidates):
            if trial.state is not State.DONE:
                reached_by_all = min(reached_by_all, len(trial.values))
            if trial.state is State.WAITING and trial.level < reached_by_all:
                yield trial, candidates[: position + 1]

    def cohort(self, number: int) -> tuple[TrialView, ...]:
        """Return the trials of a cohort that are not exempt."""
        return tuple(trial for trial in self.trials if trial.cohort == number and not trial.exempt)


def finite(value: float | None) -> float | None:
    """Return a finite number unchanged, None for anything else."""
    return value if value is not None and math.isfinite(value) else None
