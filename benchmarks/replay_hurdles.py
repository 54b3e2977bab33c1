"""Progressive dynamic hurdles against a fixed budget per candidate at equal cost, on recorded curves.

The comparison of So et al. 2019, arXiv 1901.11117, without their evolution: candidates come in random order. The
measure is the final value of the chosen candidate (normalised regret of choice, docs/replay.md), paired by order. The
rival is the fixed share with the lowest mean regret in the same simulations, which favours it.
Usage: python -m benchmarks.replay_hurdles CURVES [SEEDS]
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from runners.policies import POLICIES
from runners.replay.curves.reading import read_curves
from runners.replay.replay import CurveTask, interval, replay

BUDGETS = (5.0, 10.0, 20.0)
HURDLES = "progressive_mean"
FIXED = ("fixed_quarter", "fixed_half", "random")
"""A quarter of a training, half of one, a whole one."""

Regrets = Mapping[str, list[float]]
"""By policy and seed, the mean over the tasks."""


def regrets(tasks: list[CurveTask], budget: float, seeds: int) -> Regrets:
    """Return every policy's regret of choice by seed."""
    return {
        name: [
            fmean(replay(task, POLICIES[name], budget, seed).regret_of_choice for task in tasks)
            for seed in range(seeds)
        ]
        for name in (HURDLES, *FIXED)
    }


def verdict(found: Regrets) -> tuple[str, tuple[float, float, float], str]:
    """Return the best fixed share, the hurdles' paired difference to it with its interval, and what that decides."""
    best = min(FIXED, key=lambda name: fmean(found[name]))
    difference = interval([mine - other for mine, other in zip(found[HURDLES], found[best], strict=True)])
    _, low, high = difference
    return best, difference, "contradicted" if low > 0 else "supported" if high < 0 else "undecided"


def main() -> None:
    """Print a row per budget."""
    tasks = [CurveTask.of(curves) for curves in read_curves(Path(sys.argv[1]))]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    shown = Table(title=f"{len(tasks)} tasks, {seeds} orders: regret of choice")
    for title in ("trainings", HURDLES, *FIXED, "best fixed", "difference", "hurdles are better"):
        shown.add_column(title)
    for budget in BUDGETS:
        found = regrets(tasks, budget, seeds)
        best, difference, decided = verdict(found)
        means = [_text(interval(values)) for values in found.values()]
        shown.add_row(f"{budget:g}", *means, best, _text(difference), decided)
    Console(width=160).print(shown)


def _text(estimate: tuple[float, float, float]) -> str:
    return f"{estimate[0]:.3f} [{estimate[1]:.3f}, {estimate[2]:.3f}]"


if __name__ == "__main__":
    main()
