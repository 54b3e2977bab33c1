"""Hyperband with η = 3: brackets of successive halving from bold to cautious, repeated. Li et al. 2018, JMLR 18."""

from collections.abc import Iterator
from math import ceil

import numpy as np

from runners.replay.rungs import ETA, rung_points
from runners.replay.simulation import Action, View
from runners.replay.successive_halving import halving


def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
    """Run brackets; bracket s starts candidates s rungs below the end (algorithm 1 of the paper)."""
    rungs = rung_points(view)
    first, most = 0, len(rungs) - 1
    while first < len(view.reached):
        for bracket in range(most, -1, -1):
            size = ceil((most + 1) / (bracket + 1) * ETA**bracket)
            cohort = list(range(first, min(first + size, len(view.reached))))
            yield from halving(view, cohort, rungs[most - bracket :])
            first += size
