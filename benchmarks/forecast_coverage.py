"""How often 90% forecasts hold: the last part of recorded curves is hidden and forecast, table by table.

A table is some curves of one task drawn at random, as an experiment would have them; of tasks with many candidates
only the better half is drawn from, as nobody asks how a failed run would have gone on. The forecasts are those of the
report: a power law per curve, widened by what the same table's own earlier ends say. Widths are in standard
deviations of the curve's recorded values.
Usage: python -m benchmarks.forecast_coverage CURVES [CURVES ...]
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.console import Console
from rich.table import Table

from reports.statistics.backtest import Curve, band, law_of, widening
from runners.replay.curves.reading import read_curves
from runners.replay.curves.recorded import RecordedCurves

SHARES = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
CURVES, TABLES = 12, 8
"""Curves in a table, and tables drawn where a task has more candidates than one holds."""
MANY = 50
"""Candidates from which on the worse half is left out."""

FEWEST_POINTS = 5
"""Points below which a curve has no end to hide."""


def tables_of(task: RecordedCurves) -> Iterator[dict[str, Curve]]:
    """Yield tables of whole curves by candidate; one of all where there are few."""
    whole = np.flatnonzero(np.isfinite(task.values).all(axis=1))
    if len(whole) > MANY:
        whole = whole[np.argsort(task.values[whole, -1])][: len(whole) // 2]
    chance = np.random.default_rng(0)
    for _ in range(TABLES if len(whole) > CURVES else 1):
        chosen = chance.choice(whole, min(CURVES, len(whole)), replace=False)
        yield {task.candidates[place]: _curve(task, place) for place in sorted(chosen.tolist())}


def _curve(task: RecordedCurves, place: int) -> Curve:
    steps, values = task.steps, task.values[place].tolist()
    return {round(1000 * step): value for step, value in zip(steps, values, strict=True) if step > 0}


def judged(curves: dict[str, Curve], share: float) -> list[tuple[bool, float]]:
    """Return for each curve whether its last point lies in its interval, and the interval's width."""
    seen = {name: _without_end(curve, share) for name, curve in curves.items()}
    ratio = min(max(curves[name]) / max(seen[name]) for name in curves)
    times = widening(seen, ratio).at(ratio)
    found = []
    for name, curve in curves.items():
        law, end = law_of(name, seen[name]), max(curve)
        if law is not None:
            middle, half = band(law.at(np.array([float(end)]))[:, 0] + law.noise)
            width = 2 * times * half / (float(np.std(list(curve.values()))) or 1.0)
            found.append((abs(curve[end] - middle) <= times * half, width))
    return found


def _without_end(curve: Curve, share: float) -> Curve:
    kept = sorted(curve)[: len(curve) - max(1, round(len(curve) * share))]
    return {tokens: curve[tokens] for tokens in kept}


def main(paths: list[str]) -> int:
    """Print coverage and mean width per task; return 2 without paths."""
    if not paths:
        Console(stderr=True).print(__doc__, markup=False)
        return 2
    shown = Table("task", "curves", "points", "coverage of 90%", "lowest, highest share", "mean width", box=None)
    for task in (task for path in paths for task in read_curves(Path(path))):
        if len(task.steps) < FEWEST_POINTS:
            Console(stderr=True).print(f"{task.name}: left out, {len(task.steps)} points have no end to hide")
            continue
        tables = list(tables_of(task))
        by_share = [[one for curves in tables for one in judged(curves, share)] for share in SHARES]
        rates = [fmean(inside for inside, _ in found) for found in by_share if found]
        if not rates:
            continue
        width = fmean(width for found in by_share for _, width in found)
        several = f"{len(tables)} x {len(tables[0])}"
        spread = f"{min(rates):.1%}, {max(rates):.1%}"
        shown.add_row(task.name, several, str(len(task.steps)), f"{fmean(rates):.1%}", spread, f"{width:.2f}")
    Console(width=140).print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
