"""All targets of search on recorded curves: regret, top 1%, crossing curves, time per decision.

Usage: python -m benchmarks.replay_reach CURVES [SEEDS], where CURVES has `taskset/`, `flexibert/` or both.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from runners.replay import POLICIES, RECOMMENDED
from runners.replay.curves.reading import read_curves
from runners.replay.curves.synthetic import ADVERSARIAL, synthetic
from runners.replay.replay import CurveTask, interval, replay
from runners.replay.simulation import Simulation

REFERENCE, BLIND = "successive_halving", "random"
AT = (5.0, 10.0)
FULL = 20
CROSSING_INSTANCES = (1, 2)
TOP_SEEDS, TOP_WITHIN = 200, (20, 40)
CANDIDATES = 10_000
LATEST = 1000  # latest actions, whose decision times are reported
TRIAL_SECONDS = 2.0
Regrets = NDArray[np.float64]  # [task seed]


@dataclass(frozen=True)
class Row:
    """One target: its name, the target value and the result."""

    name: str
    reach: str
    found: str


def main(folder: Path, seeds: int) -> None:
    """Print one table; rows whose curves are missing are reported as left out."""
    table = Table(box=None, title=f"{RECOMMENDED} on recorded curves, {seeds} seeds, paired by seed")
    for heading in ("what", "reach", "found"):
        table.add_column(heading, overflow="fold")
    for row in _rows(folder, seeds):
        table.add_row(row.name, row.reach, row.found)
    Console(width=150).print(table)


def _rows(folder: Path, seeds: int) -> Iterator[Row]:
    if (folder / "taskset").is_dir():
        yield from _against_reference([CurveTask.of(curves) for curves in read_curves(folder / "taskset")], seeds)
    else:
        yield Row("TaskSet", "", f"left out: {folder / 'taskset'} is not there")
    bench = folder / "flexibert" / "BERT_benchmark.json"
    if bench.is_file():
        yield from _top_percent(CurveTask.of(next(iter(read_curves(bench)))))
    else:
        yield Row("NAS-Bench-BERT", "", f"left out: {bench} is not there")
    yield from _crossing(seeds)
    yield from _decisions()


def _against_reference(tasks: list[CurveTask], seeds: int) -> Iterator[Row]:
    for budget in AT:
        regrets, reference = (_regrets(tasks, policy, budget, seeds) for policy in (RECOMMENDED, REFERENCE))
        mean, low, high = interval(regrets.mean(axis=0).tolist())
        worst = float(np.max(regrets.mean(axis=1) / reference.mean(axis=1)))
        found = (
            f"{regrets.mean() / reference.mean():.2f} ({mean:.3f} [{low:.3f}, {high:.3f}]); worst task {worst:.2f}"
        )
        yield Row(f"{len(tasks)} tasks: regret at {budget:g} / {REFERENCE}", "0.55, no task above 1.0", found)
    target = _regrets(tasks, REFERENCE, FULL, seeds).mean()
    budgets = range(1, FULL + 1)
    first = next((one for one in budgets if _regrets(tasks, RECOMMENDED, one, seeds).mean() <= target), None)
    yield Row(f"full trainings to {REFERENCE}'s regret at {FULL} ({target:.3f})", "8", str(first or f"over {FULL}"))


def _regrets(tasks: list[CurveTask], policy: str, budget: float, seeds: int) -> Regrets:
    return np.array(
        [[replay(task, POLICIES[policy], budget, seed).regret for seed in range(seeds)] for task in tasks]
    )


def _top_percent(task: CurveTask) -> Iterator[Row]:
    ends = [replay(task, POLICIES[RECOMMENDED], TOP_WITHIN[-1], seed).top_seen_at for seed in range(TOP_SEEDS)]
    shares = []
    for within in TOP_WITHIN:
        seen = [float(end is not None and end <= within) for end in ends]
        mean, low, high = interval(seen)
        shares.append(f"{100 * mean:.1f}% [{100 * low:.1f}, {100 * high:.1f}]")
    budgets = " / ".join(map(str, TOP_WITHIN))
    yield Row(f"NAS-Bench-BERT: top 1% seen within {budgets}, {TOP_SEEDS} seeds", "75% / 97%", " / ".join(shares))


def _crossing(seeds: int) -> Iterator[Row]:
    for family in ADVERSARIAL:
        tasks = [CurveTask.of(synthetic(family, number)) for number in CROSSING_INSTANCES]
        ratios = []
        for budget in AT:
            regrets, blind = (_regrets(tasks, policy, budget, seeds).mean() for policy in (RECOMMENDED, BLIND))
            ratios.append(f"{regrets / blind:.2f}")
        yield Row(f"curves that cross, {family}: regret / {BLIND} at 5, 10", "1.1", ", ".join(ratios))


def _decisions() -> Iterator[Row]:
    task = CurveTask.of(synthetic("power_laws", 1, CANDIDATES, 51))
    order = task.order(0)
    simulation = Simulation(task.curves.values[order], task.curves.costs, task.features[order], float(CANDIDATES))
    times = [time.process_time()]
    for _ in simulation.run(POLICIES[RECOMMENDED], np.random.default_rng(0)):
        times.append(time.process_time())
        if (simulation.reached > 0).all():
            break
    durations = np.array([after - before for before, after in pairwise(times)])
    latest = 1e3 * durations[-LATEST:]
    per_trial = durations.sum() / int((simulation.reached > 0).sum())
    found = (
        f"{100 * per_trial / TRIAL_SECONDS:.2f}%; p99 {np.quantile(latest, 0.99):.2f} ms, mean {latest.mean():.2f} ms"
    )
    yield Row(f"CPU of a decision at {CANDIDATES:,} candidates / a {TRIAL_SECONDS:g} s trial", "1%; p99 5 ms", found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
