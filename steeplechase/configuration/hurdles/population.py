"""The trials of one replicate of a search, with their values at the rungs so far: the input of a hurdle.

A search shows its trials one by one as they move. What every decision asks for is kept by rung, in columns by the
place of a trial in the declared order, so that a decision among thousands of trials takes milliseconds, and that
the memory of a search is linear in its trials.
"""

import math
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar, cast

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class HurdleDecision:
    """Whether the trial clears the hurdle, its value, the threshold, and of how many trials the threshold is."""

    cleared: bool
    value: float | None
    threshold: float | None
    references: int = 0


class Threshold(NamedTuple):
    """What values are compared with, None where no value is finite, and of how many trials it is."""

    value: float | None
    references: int


class State(StrEnum):
    """What a trial does at a rung, or has done: the states between which a hurdle decides."""

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
        self._values: list[array[float]] = []
        """By rung and place: finite values, NaN without one."""
        self._finals = array("d")
        """By place: finite values at the end, NaN without one."""
        self._declared: dict[int, _Declared] = {}
        """By rung: the values that were asked for last."""
        self._kept: dict[object, object] = {}
        """What was found from the trials of cohorts before `_kept_for`."""
        self._kept_for = 0
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
                column.append(math.nan)
        while len(self._values) < len(trial.values):
            self._values.append(array("d", [math.nan]) * len(self._trials))
        if trial.cohort < self._kept_for:
            self._kept.clear()
        self._trials[place], self._finals[place] = trial, as_number(trial.final)
        for level, value in enumerate(trial.values):
            self._set(level, place, as_number(value))
        for level in range(len(trial.values), len(self._values)):
            self._set(level, place, math.nan)
        (self._open.discard if trial.state is State.DONE else self._open.add)(place)

    def _set(self, level: int, place: int, value: float) -> None:
        before, self._values[level][place] = self._values[level][place], value
        known = self._declared.get(level)
        is_other = before != value and not (math.isnan(before) and math.isnan(value))
        if known is not None and place < known.places and is_other:
            del self._declared[level]

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

    def declared_up_to(self, trial: TrialView) -> Sequence[float]:
        """Return the values at a trial's rung of the trials declared up to it that are not exempt, ascending.

        They are kept from one trial to the next, since trials are mostly decided on in their declared order.
        """
        place, column = self._places[trial.name], self._column(trial.level)
        known = self._declared.get(trial.level)
        if known is None or known.places > place + 1:
            known = self._declared[trial.level] = _Declared([], 0)
        for each in range(known.places, place + 1):
            if not math.isnan(column[each]) and not self._trials[each].exempt:
                known.values.insert(bisect_left(known.values, column[each]), column[each])
        known.places = place + 1
        return known.values

    def found_before(self, cohort: int, name: object, find: Callable[[], Found]) -> Found:
        """Return what `find` finds from the trials of cohorts before one; it is kept until one of them changes."""
        if cohort != self._kept_for:
            self._kept_for = cohort
            self._kept.clear()
        if name not in self._kept:
            self._kept[name] = find()
        return cast("Found", self._kept[name])

    def values_before(self, trial: TrialView) -> Mapping[int, Sequence[float]]:
        """Return the values at a trial's rung in earlier cohorts, by cohort.

        Exempt trials count at the first rung only.
        """
        found = dict[int, list[float]]()
        for value, each in zip(self._column(trial.level), self._trials, strict=True):
            if not math.isnan(value) and each.cohort < trial.cohort and not (each.exempt and trial.level):
                found.setdefault(each.cohort, []).append(value)
        return found

    def pairs_before(self, cohort: int, first: int, second: int | None) -> list[tuple[float, float]]:
        """Return the values at two rungs, or at one and the end, of trials of earlier cohorts that have both."""
        ends = self._finals if second is None else self._column(second)
        found = zip(self._column(first), ends, self._trials, strict=True)
        return [
            (x, y)
            for x, y, each in found
            if not (math.isnan(x) or math.isnan(y)) and each.cohort < cohort and not each.exempt
        ]

    def _column(self, level: int) -> "array[float]":
        return self._values[level] if level < len(self._values) else array("d", [math.nan]) * len(self._trials)


@dataclass
class _Declared:
    """Values of the trials in the first places, sorted."""

    values: list[float]
    places: int


def as_number(value: float | None) -> float:
    """Return a finite number unchanged, NaN for anything else."""
    return value if value is not None and math.isfinite(value) else math.nan


def finite(value: float | None) -> float | None:
    """Return a finite number unchanged, None for anything else."""
    return value if value is not None and math.isfinite(value) else None
