"""Greedy freeze-thaw without features: continue the candidate with the best log-linear forecast, or start another.

A simple form of Swersky et al. 2014, arXiv 1406.3896, with a straight line through the values against log step in
place of a Gaussian process: a baseline for better policies.
"""

from collections.abc import Iterator

import numpy as np

from runners.replay.simulation import Action, Numbers, View

START_EVERY = 3  # actions per new candidate
FIRST_POINTS = 2  # points, so that there is a slope


def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
    """Start a candidate in every third action, else continue the one with the best forecast by a point."""
    end, forecast, started, turn = len(view.costs), np.full(len(view.reached), np.inf), 0, 0
    while True:
        unfinished = np.where(view.reached < end, forecast, np.inf)
        best = int(np.argmin(unfinished))
        starts = started < len(view.reached) and (turn % START_EVERY == 0 or not np.isfinite(unfinished[best]))
        if not starts and not np.isfinite(unfinished[best]):
            return
        candidate = started if starts else best
        started, turn = started + starts, turn + 1
        yield Action(candidate, min(FIRST_POINTS, end) if starts else int(view.reached[candidate]) + 1)
        seen = view.observed[candidate, : view.reached[candidate]]
        forecast[candidate] = log_linear_end(seen, end) if np.isfinite(seen).all() else np.inf


def log_linear_end(seen: Numbers, end: int) -> float:
    """Return the value at the last point by a least-squares line through the values against log step."""
    steps = np.log(np.arange(1, len(seen) + 1))
    latest = float(seen[-1])
    if len(seen) < 2:
        return latest
    slope = float(np.polyfit(steps[len(seen) // 2 - 1 :], seen[len(seen) // 2 - 1 :], 1)[0])
    return latest + min(slope, 0.0) * float(np.log(end) - steps[-1])
