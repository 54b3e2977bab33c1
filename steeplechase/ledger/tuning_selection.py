"""Selection of the point at which an arm is compared: a pure function of the results of its tuning trials.

NaN, missing and infinite values are never selected, nor is a point with a diverged seed. Ties go to the shared
recipe, then to the smaller change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean

from steeplechase.foundation.schema import JsonValue

Size = tuple[int, float]


@dataclass(frozen=True)
class Choice:
    """The selected point of an arm, written to the ledger before it takes effect."""

    arm: str
    point: int
    """Number of the selected point; 0 is the shared recipe."""
    values: tuple[float | None, ...]
    """By point: the mean over tuning's seeds, None if a seed has no finite value."""
    own: str
    """Name of the arm at its selected recipe; the arm's own name if that is the shared recipe."""

    @property
    def as_json(self) -> JsonValue:
        """The choice in the ledger's form."""
        return {"arm": self.arm, "point": self.point, "values": [*self.values], "own": self.own}

    @classmethod
    def of(cls, document: JsonValue) -> "Choice":
        """Return a choice from the ledger's form."""
        assert isinstance(document, dict)
        point, values = document["point"], document["values"]
        assert isinstance(point, int)
        assert isinstance(values, list)
        numbers = tuple(float(value) if isinstance(value, int | float) else None for value in values)
        return cls(str(document["arm"]), point, numbers, str(document["own"]))


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
