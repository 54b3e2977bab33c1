"""Where a curve will end, from other curves of the same schedule that have ended.

Two methods, each fitted on the others: their mean further fall from the last value seen, and their ends regressed on
that value. Both follow a falling learning rate, because that of the others fell alike. The one with the smallest
error at curves whose group (an arm's seeds) is left out is chosen. The half width of an interval is a quantile of the
errors of the choice itself at left-out curves (jackknife, Barber et al. 2021, arXiv 1905.02928); where they are too
few for the coverage there is none.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Losses = Float[np.ndarray, "n"]
"""Of one curve, at the points that all curves share."""


@dataclass(frozen=True)
class Run:
    """A curve that has ended, and the group that is left out with it."""

    group: str
    losses: Losses

    @property
    def end(self) -> float:
        """The last loss."""
        return float(self.losses[-1])


Fitted = Callable[[Losses], float]
"""From the first points of a curve to its end."""
Method = Callable[[Sequence[Run], int], Fitted | None]
"""From curves that have ended and the number of points seen; None where it does not apply."""


def same_fall(runs: Sequence[Run], seen: int) -> Fitted:
    """Return the last value less the mean further fall of the others."""
    fall = float(np.mean([run.losses[seen - 1] - run.end for run in runs]))
    return lambda losses: float(losses[seen - 1]) - fall


def regression(runs: Sequence[Run], seen: int) -> Fitted | None:
    """Return the least-squares line of the others' ends on their values; it needs three that differ."""
    values, ends = np.array([run.losses[seen - 1] for run in runs]), np.array([run.end for run in runs])
    apart = values - values.mean()
    squares = float((apart**2).sum())
    if len(runs) < 3 or squares == 0:
        return None
    slope = float((apart * ends).sum()) / squares
    return lambda losses: float(ends.mean()) + slope * (float(losses[seen - 1]) - float(values.mean()))


METHODS: Mapping[str, Method] = {"same fall": same_fall, "regression": regression}


def left_out_errors(method: Method, runs: Sequence[Run], seen: int) -> list[float] | None:
    """Return the error at every curve when its group is left out; None where the method does not apply."""
    errors = []
    for group in dict.fromkeys(run.group for run in runs):
        others = [run for run in runs if run.group != group]
        fitted = method(others, seen) if others else None
        if fitted is None:
            return None
        errors += [fitted(run.losses) - run.end for run in runs if run.group == group]
    return errors


@dataclass(frozen=True)
class Chosen:
    """The method with the smallest left-out error, fitted on all curves."""

    name: str
    fitted: Fitted


def choose(runs: Sequence[Run], seen: int) -> Chosen | None:
    """Return the best method at left-out groups, fitted on all curves; None with fewer than two groups."""
    found = []
    for name, method in METHODS.items():
        errors, fitted = left_out_errors(method, runs, seen), method(runs, seen) if runs else None
        if errors and fitted is not None:
            found.append((math.fsum(error**2 for error in errors), Chosen(name, fitted)))
    return min(found, key=lambda each: each[0])[1] if found else None


def choice(runs: Sequence[Run], seen: int) -> Fitted | None:
    """Return what `choose` fits: the choice as a method, to be judged like the others."""
    chosen = choose(runs, seen)
    return None if chosen is None else chosen.fitted


def conformal_reach(errors: Sequence[float], coverage: float) -> float | None:
    """Return what a share of further errors stays below, by rank; None where there are too few for the share."""
    rank = math.ceil(coverage * (len(errors) + 1) - 1e-9)
    return sorted(map(abs, errors))[rank - 1] if rank <= len(errors) else None
