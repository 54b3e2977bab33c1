"""The trials of one replicate of a search, with their values at the rungs so far: the input of a hurdle.

A search shows its trials one by one as they move. What every decision asks for is kept by rung, in columns by the
place of a trial in the declared order, so that a decision among thousands of trials takes milliseconds, and that
the memory of a search is linear in its trials.
"""

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class HurdleDecision:
    """Whether the trial clears the hurdle, its value, the threshold, and the trials that the threshold is from."""

    cleared: bool
    value: float | None
    threshold: float | None
    reference_trials: tuple[str, ...] = ()


class Threshold(NamedTuple):
    """What values are compared with, None where no value is finite, and the trials that it is from."""

    value: float | None
    reference_trials: tuple[str, ...]


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
    level: int = 0
    """Number of hurdles that have decided on it, which is that of the hurdle at which it waits or to which it
    trains, from 0."""
    final: float | None = None
    """The loss at the end of its training, or the score, sign changed; None before and without a finite one."""
    exempt: bool = False
    """True for the baseline, which is never stopped, since every candidate is compared with it."""

    @property
    def value(self) -> float | None:
        """Its value at the current hurdle, None if that is not finite."""
        return finite(self.values[self.level])

    def may_still_reach(self, level: int) -> bool:
        """Whether it may still get a value at a rung."""
        return self.state is not State.DONE and len(self.values) <= level


class Population:
    """All trials, in the order in which they were declared, independent of the order of arrival."""

    def __init__(self, trials: Iterable[TrialView] = ()) -> None:
        self._trials: list[TrialView] = []
        """In the order of their declaration."""
        self._places: dict[str, int] = {}
        self._cohorts: dict[int, list[int]] = {}
        """Places by cohort."""
        self._values: list[list[float | None]] = []
        """By rung and place: finite values."""
        self._finals: list[float | None] = []
        """By place: finite values at the end."""
        self._open: set[int] = set()
        """Places of the trials on which a hurdle may still decide."""
        self._thresholds: dict[tuple[int, int], Threshold] = {}
        """By cohort and rung."""
        self._first_fixed: dict[int, int] = {}
        """By rung: the earliest cohort with a threshold."""
        for trial in trials:
            self.show(trial)

    def show(self, trial: TrialView) -> None:
        """Add a trial after all others, or replace what is known of it."""
        place = self._places.setdefault(trial.name, len(self._trials))
        if place == len(self._trials):
            self._trials.append(trial)
            self._cohorts.setdefault(trial.cohort, []).append(place)
            for column in (self._finals, *self._values):
                column.append(None)
        while len(self._values) < len(trial.values):
            self._values.append([None] * len(self._trials))
        self._trials[place], self._finals[place] = trial, finite(trial.final)
        for column, value in zip_longest(self._values, trial.values):
            column[place] = finite(value)
        (self._open.discard if trial.state is State.DONE else self._open.add)(place)

    def fix(self, cohort: int, level: int, threshold: Threshold) -> None:
        """Keep the first threshold of a cohort at a rung, for its trials that arrive later."""
        self._thresholds.setdefault((cohort, level), threshold)
        self._first_fixed[level] = min(cohort, self._first_fixed.get(level, cohort))

    def fixed(self, cohort: int, level: int) -> Threshold | None:
        """Return the threshold that a cohort has been compared with at a rung, None if there was none."""
        return self._thresholds.get((cohort, level))

    def first_fixed(self, level: int) -> Threshold | None:
        """Return the threshold that the earliest cohort with any has been compared with at a rung."""
        first = self._first_fixed.get(level)
        return None if first is None else self._thresholds[first, level]

    @property
    def waiting(self) -> Iterator[TrialView]:
        """The trials that wait for a decision."""
        return (trial for trial in self._in_order(self._open) if trial.state is State.WAITING)

    def _in_order(self, places: Iterable[int]) -> Iterator[TrialView]:
        return (self._trials[place] for place in sorted(places))

    @property
    def decidable_in_order(self) -> Iterator[TrialView]:
        """The waiting trials of which all that were declared before have reached their rung or ended."""
        reached_by_all = sys.maxsize  # rungs of every trial so far that has not ended
        for trial in self._in_order(self._open):
            if not trial.exempt:
                reached_by_all = min(reached_by_all, len(trial.values))
                if trial.state is State.WAITING and trial.level < reached_by_all:
                    yield trial

    def cohort(self, number: int) -> tuple[TrialView, ...]:
        """Return the trials of a cohort that are not exempt."""
        return tuple(trial for trial in self._in_order(self._cohorts.get(number, ())) if not trial.exempt)

    def values_up_to(self, trial: TrialView) -> dict[str, float]:
        """Return the values at a trial's rung by name, of the trials declared up to it that are not exempt."""
        declared = self._trials[: self._places[trial.name] + 1]
        found = zip(self._column(trial.level), declared, strict=False)
        return {each.name: value for value, each in found if value is not None and not each.exempt}

    def values_before(self, trial: TrialView) -> dict[int, dict[str, float]]:
        """Return the values at a trial's rung in earlier cohorts, by cohort and name.

        Exempt trials count at the first rung only.
        """
        found = dict[int, dict[str, float]]()
        for value, each in zip(self._column(trial.level), self._trials, strict=False):
            if value is not None and each.cohort < trial.cohort and not (each.exempt and trial.level):
                found.setdefault(each.cohort, {})[each.name] = value
        return found

    def pairs_before(self, trial: TrialView, first: int, second: int | None) -> list[tuple[float, float]]:
        """Return the values at two rungs, or at one and the end, of trials of earlier cohorts that have both."""
        declared, ends = self._trials[: self._places[trial.name]], self._finals
        found = zip(self._column(first), ends if second is None else self._column(second), declared, strict=False)
        return [
            (x, y)
            for x, y, each in found
            if x is not None and y is not None and each.cohort < trial.cohort and not each.exempt
        ]

    def _column(self, level: int) -> list[float | None]:
        return self._values[level] if level < len(self._values) else []


def finite(value: float | None) -> float | None:
    """Return a finite number unchanged, None for anything else."""
    return value if value is not None and math.isfinite(value) else None
