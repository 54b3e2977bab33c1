"""Progressive Dynamic Hurdles. So et al. 2019, The Evolved Transformer, arXiv 1901.11117, section 4.

A cohort trains to the first mark and its mean becomes the first hurdle. Later candidates go on to the next mark while
they clear every hurdle so far; as many again, and the mean of those that have reached the furthest mark becomes the
next hurdle. Without evolution: candidates come in random order, so this is the hurdle rule alone.
"""

from collections.abc import Iterator

import numpy as np

from runners.replay.rungs import value_at
from runners.replay.simulation import Action, View

COHORT = 10  # candidates between two hurdles
MARKS = 4  # hurdles divide a training into so many equal parts


def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
    """Send candidate after candidate against the hurdles there are."""
    marks = [int(np.searchsorted(view.costs, (part + 1) / MARKS - 1e-9)) + 1 for part in range(MARKS)]
    marks = sorted(set(marks))
    hurdles: list[float] = []
    for candidate in range(len(view.reached)):
        for level, points in enumerate(marks):
            yield Action(candidate, points)
            if level >= len(hurdles) or not value_at(view, candidate, points) < hurdles[level]:
                break
        if (candidate + 1) % COHORT == 0 and len(hurdles) < len(marks) - 1:
            hurdles.extend(_next_hurdle(view, marks[len(hurdles)]))


def _next_hurdle(view: View, points: int) -> list[float]:
    """Return the mean of the finite values at a mark; none where nobody has reached it."""
    reached = [value_at(view, int(each), points) for each in np.flatnonzero(view.reached >= points)]
    finite = [value for value in reached if np.isfinite(value)]
    return [float(np.mean(finite))] if finite else []
