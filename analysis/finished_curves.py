"""Where a curve will end, from other curves of the same schedule that have ended.

Two predictors from the last value seen: the mean further fall of the others, and their end regressed on that value.
Both follow a learning rate that falls, because the others' rates fell alike. `best_predictor` chooses by the error at
curves left out group by group (an arm's seeds together), and `conformal_reach` gives the half width of an interval from
such errors (leave-one-out conformal prediction, Vovk 2015, Annals of Mathematics and AI 74; jackknife, Barber et al.
2021, arXiv 1905.02928): with too few groups there is none.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Values = Float[np.ndarray, "curves"]  # noqa: F821
Predictor = Callable[[Values, Values, float], float]
"""From others' values at a point, their ends, and a curve's value at that point to its end."""


def same_fall(values: Values, ends: Values, value: float) -> float:
    """Return the value less the mean further fall of the others."""
    return value + float((ends - values).mean())


def regression(values: Values, ends: Values, value: float) -> float:
    """Return the least-squares line of the ends on the values; with fewer than three others, the mean fall."""
    spread = values - values.mean()
    squares = float((spread**2).sum())
    if len(values) < 3 or squares == 0:
        return same_fall(values, ends, value)
    slope = float((spread * ends).sum()) / squares
    return float(ends.mean()) + slope * (value - float(values.mean()))


PREDICTORS: Mapping[str, Predictor] = {"same fall": same_fall, "regression": regression}


@dataclass(frozen=True)
class Finished:
    """Curves that have ended: of each its group, its value at the point of interest, and its end."""

    groups: Sequence[str]
    values: Values
    ends: Values

    def without(self, group: str) -> "Finished":
        """Return the curves of all other groups."""
        kept = [place for place, each in enumerate(self.groups) if each != group]
        return Finished([self.groups[place] for place in kept], self.values[kept], self.ends[kept])

    def left_out_errors(self, predictor: Predictor) -> dict[str, float]:
        """Return by group the error of the mean end when its curves are predicted from the other groups alone."""
        errors: dict[str, float] = {}
        for group in dict.fromkeys(self.groups):
            others = self.without(group)
            mine = [place for place, each in enumerate(self.groups) if each == group]
            value, end = float(self.values[mine].mean()), float(self.ends[mine].mean())
            errors[group] = predictor(others.values, others.ends, value) - end
        return errors


def best_predictor(finished: Finished) -> str | None:
    """Return the predictor with the smallest squared error at left-out groups; None with fewer than two groups."""
    if len(set(finished.groups)) < 2:
        return None
    errors = {name: finished.left_out_errors(predictor).values() for name, predictor in PREDICTORS.items()}
    return min(errors, key=lambda name: math.fsum(error**2 for error in errors[name]))


def conformal_reach(errors: Sequence[float], coverage: float) -> float | None:
    """Return the half width that a share of left-out errors stays below; None where there are too few for it."""
    rank = math.ceil(coverage * (len(errors) + 1) - 1e-9)
    return sorted(map(abs, errors))[rank - 1] if rank <= len(errors) else None
