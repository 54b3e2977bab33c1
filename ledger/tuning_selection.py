"""Which point an arm is compared at: a pure function of what its tuning trials found.

NaN, missing and infinite never win, and neither does a point on which a seed diverged. Ties go to the shared recipe,
then to the smaller change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean

from foundation.schema import JsonValue

Size = tuple[int, float]


@dataclass(frozen=True)
class Choice:
    """What an arm's tuning came to, as it is written into the ledger before it is acted on."""

    arm: str
    point: int
    """Its number; 0 is the shared recipe."""
    values: tuple[float | None, ...]
    """By point: the mean over tuning's seeds, None where a seed gave no finite value."""
    own: str
    """The arm at its own recipe; its own name where that is the shared one."""

    @property
    def as_json(self) -> JsonValue:
        """The choice as a ledger keeps it."""
        return {"arm": self.arm, "point": self.point, "values": [*self.values], "own": self.own}

    @classmethod
    def of(cls, document: JsonValue) -> "Choice":
        """Return a choice as a ledger has kept it."""
        assert isinstance(document, dict)
        point, values = document["point"], document["values"]
        assert isinstance(point, int)
        assert isinstance(values, list)
        numbers = tuple(float(value) if isinstance(value, int | float) else None for value in values)
        return cls(str(document["arm"]), point, numbers, str(document["own"]))


def mean_over_seeds(found: Sequence[float | None]) -> float | None:
    """Return the mean of the seeds' values, None where one is missing or not finite."""
    known = [value for value in found if value is not None and isfinite(value)]
    return fmean(known) if known and len(known) == len(found) else None


def chosen(values: Sequence[float | None], sizes: Sequence[Size], larger_is_better: bool) -> int:
    """Return the number of the best point; the shared recipe, 0, where none has a value."""
    sign = -1.0 if larger_is_better else 1.0
    ranked = [
        (sign * value, number != 0, size, number)
        for number, (value, size) in enumerate(zip(values, sizes, strict=True))
        if value is not None and isfinite(value)
    ]
    return min(ranked)[-1] if ranked else 0
