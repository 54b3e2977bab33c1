"""Verdicts on several cells with simultaneous intervals that agree with them: 0 is outside if and only if rejected.

Guilbaud 2008, Biometrical Journal 50, 678; Strassburger and Bretz 2008, Statistics in Medicine 27, 4914: for
one-sided hypotheses tested by a Bonferroni procedure whose levels only grow, bounds at the final levels are
simultaneous, with 0 as the bound of a rejected one. A two-sided verdict is a pair of one-sided hypotheses, one of
which is always true (`graphical.directed`). With a probability of at least 1 - alpha all intervals hold the true
values and no reported sign is wrong, for any dependence between the cells.

The price: the bound nearer to 0 of a rejected cell is 0 itself.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.graphical import Graph, directed, graphical_test
from steeplechase.analysis.shapes import Bool, Float

Cells = Float[np.ndarray, "*tables cells"]


@dataclass(frozen=True)
class Simultaneous:
    """Per cell: the adjusted p that decides, the two-sided level of the decision, and the simultaneous bounds."""

    adjusted_p: Cells
    """The smallest alpha at which a sign is reported; NaN where there is no test."""
    level: Cells
    """Twice the one-sided level of the last test: that of the uncorrected p and of the detectable effect; 0 where a
    gate is shut."""
    low: Cells
    high: Cells
    """Infinite where a gate is shut, NaN where there is no test. A bound of 0 is not part of the interval of a
    rejected cell."""
    sign: Float[np.ndarray, "*tables cells"]
    """1 or -1 where the sign of the true value is reported, else 0."""

    @property
    def rejected(self) -> Bool[np.ndarray, "*tables cells"]:
        """Whether the cell differs from 0 after the correction."""
        return np.asarray(self.sign != 0)


def step_down(estimates: Estimates, graph: Graph, alpha: float = ALPHA, spent: ArrayLike = 1.0) -> Simultaneous:
    """Return the verdicts of a graph over the cells, each tested in both directions.

    `spent` is the share of the error for this look (`group_sequential`), per cell where arms are at different looks.
    """
    p = np.concatenate(
        [np.minimum(1.0, each / spent) for each in (estimates.p_above(), estimates.p_below())], axis=-1
    )
    found = graphical_test(p, directed(graph), alpha)
    above, below = np.split(found.rejected, 2, axis=-1)
    level_above, level_below = (each * spent for each in np.split(found.level, 2, axis=-1))
    low = np.where(above, 0.0, _lower(estimates, level_above))
    high = np.where(below, 0.0, -_lower(-estimates, level_below))
    adjusted = np.minimum(*np.split(found.adjusted_p, 2, axis=-1))
    level = 2 * np.where(estimates.value > 0, level_above, level_below)
    return Simultaneous(adjusted, level, low, high, above * 1.0 - below)


def _lower(estimates: Estimates, level: Cells) -> Cells:
    """Return the one-sided lower bound at a level; minus infinity at level 0."""
    return np.asarray(estimates.value - estimates.half_width(np.minimum(1.0, 2 * level)))
