"""Facts in the ledger of what a run plans on its way: tuning, and the comparison at the end of a search.

The selection of tuning is a pure function of the results of an arm's tuning trials. NaN, missing and infinite values
are never selected, nor is a point with a diverged seed. Ties go to the shared recipe, then to the smaller change.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import ClassVar, Self

from pydantic import Field, model_validator

from steeplechase.foundation.recorded import Recorded
from steeplechase.foundation.schema import JsonValue, Schema, Whole

TUNING, CHOICES = "tuning", "own_recipes"
"""Names of the facts of tuning."""
FINALISTS, WINNER = "finalists", "winner"
"""Names of the facts of the comparison; the winner's is a list of one name, or of none without a finished one."""
Size = tuple[int, float]


class TuningPlan(Recorded):
    """The points at which every arm was tried, and the settings of the tuning trials."""

    removed: ClassVar[Mapping[str, JsonValue]] = {"ranges": {}, "sampler": "grid"}

    points: tuple[Mapping[str, JsonValue], ...]
    """Changes from the shared recipe; the first point is the shared recipe, without changes."""
    names: tuple[str, ...]
    """Names of the points, in their order."""
    shared: Mapping[str, JsonValue]
    """The shared recipe's value of every tuned field; null if its options have no such field."""
    seeds: tuple[int, ...]
    tokens: int
    """Training tokens of a tuning trial."""
    metric: str
    labels: tuple[str, ...]
    """The stages of a tuning trial."""

    @classmethod
    def of(cls, fact: JsonValue) -> "TuningPlan":
        """Return the parsed fact."""
        return cls.of_record(fact)

    def values(self, path: str) -> tuple[JsonValue, ...]:
        """Return an axis's value at every point."""
        return tuple(point.get(path, self.shared[path]) for point in self.points)


class Choice(Schema, extra="ignore"):
    """The selected point of an arm, written to the ledger before it takes effect."""

    arm: str
    point: Whole
    """Number of the selected point; 0 is the shared recipe."""
    values: tuple[float | None, ...] = Field(strict=False)
    """By point: the mean over tuning's seeds, None if a seed has no finite value."""
    own: str
    """Name of the arm at its selected recipe; the arm's own name if that is the shared recipe."""

    @model_validator(mode="after")
    def _of_a_point(self) -> Self:
        if self.point >= len(self.values):
            raise ValueError(f"{self.arm}: has no point {self.point}")
        return self


def choices_of(fact: JsonValue) -> tuple[Choice, ...]:
    """Return the selected points by arm; empty before the selection."""
    return tuple(map(Choice.model_validate, fact)) if isinstance(fact, list) else ()


def mean_over_seeds(values: Sequence[float | None]) -> float | None:
    """Return the mean of the seeds' values, None if one is missing or not finite."""
    finite = [value for value in values if value is not None and isfinite(value)]
    return fmean(finite) if finite and len(finite) == len(values) else None


def chosen(values: Sequence[float | None], sizes: Sequence[Size], larger_is_better: bool) -> int:
    """Return the number of the best point; 0, the shared recipe, if no point has a value."""
    sign = -1.0 if larger_is_better else 1.0
    ranked = [
        (sign * value, number != 0, size, number)
        for number, (value, size) in enumerate(zip(values, sizes, strict=True))
        if value is not None and isfinite(value)
    ]
    return min(ranked)[-1] if ranked else 0


class FinalPlan(Recorded):
    """The finalists of a search and how they are compared."""

    finalists: Mapping[str, Mapping[str, JsonValue]]
    """By name, in the order of their ranks, the changes from the baseline."""
    seeds: tuple[int, ...]
    """Pretraining seeds of the comparison."""
    labels: tuple[str, ...]
    """The stages of a trial of the comparison."""
    declared: bool
    """Whether the experiment declares finalists; otherwise no candidate had finished, and the best is trained on."""
    ranked_by: tuple[str, ...] = ()
    """The objectives that they were the best by; empty of older ledgers, whose score was the mean over all tasks."""

    @classmethod
    def of(cls, fact: JsonValue) -> "FinalPlan | None":
        """Return the parsed fact; None without it."""
        return None if fact is None else cls.of_record(fact)


def winner_of(fact: JsonValue) -> str | None:
    """Return the winner's name; None before it is known, or if no finalist has finished."""
    return str(fact[0]) if isinstance(fact, list) and fact else None
