"""Coverage of 90% forecast intervals: the ends of recorded curves are hidden and forecast, table by table.

A table is a random sample of the curves of one task, like the arms of an experiment; for tasks with many candidates
it is drawn from the better half, since forecasts of failed runs are of no interest. The forecasts are those of the
report: a power law per curve, widened by a backtest on the same table. Widths are in standard deviations of the
curve's recorded values.
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
"""Curves per table, and tables per task with more candidates than that."""
MANY = 50
"""Candidates above which the worse half of a task is left out."""

FEWEST_POINTS = 5
"""Minimum points of a curve, so that its end can be hidden."""


def tables_of(task: RecordedCurves) -> Iterator[dict[str, Curve]]:
    """Yield tables of complete curves by candidate; a single table if there are few."""
    complete = np.flatnonzero(np.isfinite(task.values).all(axis=1))
    if len(complete) > MANY:
        complete = complete[np.argsort(task.values[complete, -1])][: len(complete) // 2]
    generator = np.random.default_rng(0)
    for _ in range(TABLES if len(complete) > CURVES else 1):
        chosen = generator.choice(complete, min(CURVES, len(complete)), replace=False)
        yield {task.candidates[candidate]: _curve(task, candidate) for candidate in sorted(chosen.tolist())}


def _curve(task: RecordedCurves, candidate: int) -> Curve:
    steps, values = task.steps, task.values[candidate].tolist()
    return {round(1000 * step): value for step, value in zip(steps, values, strict=True) if step > 0}


def coverage(curves: dict[str, Curve], share: float) -> list[tuple[bool, float]]:
    """Return for each curve whether its interval covers the last point, and the interval's width."""
    visible = {name: _without_end(curve, share) for name, curve in curves.items()}
    ratio = min(max(curves[name]) / max(visible[name]) for name in curves)
    times = widening(visible, ratio).at(ratio)
    results = []
    for name, curve in curves.items():
        law, end = law_of(name, visible[name]), max(curve)
        if law is not None:
            middle, half = band(law.at(np.array([float(end)]))[:, 0] + law.noise)
            width = 2 * times * half / (float(np.std(list(curve.values()))) or 1.0)
            results.append((abs(curve[end] - middle) <= times * half, width))
    return results


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
        by_share = [[result for curves in tables for result in coverage(curves, share)] for share in SHARES]
        rates = [fmean(covered for covered, _ in results) for results in by_share if results]
        if not rates:
            continue
        width = fmean(width for results in by_share for _, width in results)
        several = f"{len(tables)} x {len(tables[0])}"
        spread = f"{min(rates):.1%}, {max(rates):.1%}"
        shown.add_row(task.name, several, str(len(task.steps)), f"{fmean(rates):.1%}", spread, f"{width:.2f}")
    Console(width=140).print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
