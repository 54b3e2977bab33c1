"""ASHA with η = 3 and one worker: promote whoever is in the best third of a rung, or start another. Li et al. 2020.

Algorithm 2 of arXiv 1810.05934: rungs are searched from the top, and a candidate that may be promoted is paused
meanwhile and costs only its new steps.
"""

from bisect import insort
from collections.abc import Iterator

import numpy as np

from runners.replay.rungs import ETA, rung_points, value_at
from runners.replay.simulation import Action, View


def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
    """Promote or start, one move at a time."""
    rungs = rung_points(view)
    standing: list[list[tuple[float, int]]] = [[] for _ in rungs]
    promoted: list[set[int]] = [set() for _ in rungs]
    started = 0
    while True:
        level, candidate = _promotable(standing, promoted) or (-1, started)
        if level < 0:
            if started == len(view.reached):
                return
            started += 1
        else:
            promoted[level].add(candidate)
        yield Action(candidate, rungs[level + 1])
        insort(standing[level + 1], (value_at(view, candidate, rungs[level + 1]), candidate))


def _promotable(standing: list[list[tuple[float, int]]], promoted: list[set[int]]) -> tuple[int, int] | None:
    """Return the highest rung with a finite, not yet promoted candidate in its best third, and the best such."""
    for level in range(len(standing) - 2, -1, -1):
        for value, candidate in standing[level][: len(standing[level]) // ETA]:
            if candidate not in promoted[level] and np.isfinite(value):
                return level, candidate
    return None
