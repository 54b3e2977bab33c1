"""Final scores by cross-validation over halves of a table, and the time of decisions with 10,000 candidates.

The settings of the policy for final scores are chosen by its searches in one half of NAS-Bench-BERT and scored by
searches in the other half, which is another table with another best percent. They are chosen once by the share of
searches that see the best percent, which is two candidates, and once by the mean regret, which varies less.
Usage: python -m benchmarks.replay_reach CURVES, where CURVES is `BERT_benchmark.json`
"""

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from runners.policies import POLICIES, RECOMMENDED
from runners.policies.final_score_gp import FinalScoreProcess
from runners.policies.policy import PolicyFactory
from runners.replay.curves.reading import read_curves
from runners.replay.curves.recorded import RecordedCurves
from runners.replay.curves.synthetic import synthetic
from runners.replay.replay import CurveTask, interval, replay
from runners.replay.simulation import Simulation

SPLITS, SPLIT_SEEDS, SEEDS = 15, 20, 200
WITHIN = (20, 40)
LENGTHS, EXPLORATIONS = (1.0, 2.0, 4.0), (0.5, 1.0, 2.0)
CRITERIA = ("share", "regret")
CANDIDATES, WORKERS = 10_000, (1, 2, 64)
LATEST = 1000  # latest decisions, whose times are reported
TRIAL_SECONDS = 2.0


def process(length: float, exploration: float) -> PolicyFactory:
    """Return the policy with other settings."""
    return lambda view, generator: FinalScoreProcess(view, generator, length, exploration)


VARIANTS: Mapping[str, PolicyFactory] = {
    f"length {length:g}, exploration {exploration:g}": process(length, exploration)
    for length in LENGTHS
    for exploration in EXPLORATIONS
}


def seen(task: CurveTask, policy: PolicyFactory, within: int, seeds: int) -> list[float]:
    """Return for every seed whether a candidate of the best percent was trained."""
    return [float(replay(task, policy, within, seed).top_seen_at is not None) for seed in range(seeds)]


def in_half(task: CurveTask, policy: PolicyFactory) -> tuple[float, float]:
    """Return the share of searches that see the best percent, and the negated mean regret."""
    outcomes = [replay(task, policy, WITHIN[0], seed) for seed in range(SPLIT_SEEDS)]
    return fmean(each.top_seen_at is not None for each in outcomes), -fmean(each.regret for each in outcomes)


def part(curves: RecordedCurves, rows: NDArray[np.int64]) -> CurveTask:
    """Return the task of some candidates."""
    names = tuple(curves.candidates[row] for row in rows)
    configs = tuple(curves.configs[row] for row in rows)
    return CurveTask.of(replace(curves, candidates=names, configs=configs, values=curves.values[rows]))


def cross_validated(curves: RecordedCurves) -> Iterator[tuple[tuple[str, ...], tuple[float, ...]]]:
    """Yield for every half the settings chosen in it by each criterion, and shares in the other half.

    The last share is that of random search.
    """
    generator = np.random.default_rng(0)
    for _ in range(SPLITS):
        order = generator.permutation(len(curves.candidates))
        halves = [part(curves, rows) for rows in np.array_split(order, 2)]
        found = [{name: in_half(half, policy) for name, policy in VARIANTS.items()} for half in halves]
        for own, other, half in zip(found, found[::-1], halves[::-1], strict=True):
            chosen = tuple(_best(own, criterion) for criterion in range(len(CRITERIA)))
            blind, _ = in_half(half, POLICIES["random"])
            yield chosen, (*(other[name][0] for name in chosen), blind)


def _best(found: Mapping[str, tuple[float, float]], criterion: int) -> str:
    return max(found, key=lambda name: found[name][criterion])


def main() -> None:
    """Print a line per target."""
    console = Console(width=150)
    (curves,) = read_curves(Path(sys.argv[1]))
    chosen, shares = zip(*cross_validated(curves), strict=True)
    title = f"top 1% within {WITHIN[0]}, chosen in one half, scored in the other, {len(shares)} halves"
    *of_criteria, blind = zip(*shares, strict=True)
    for criterion, scores, names in zip(CRITERIA, of_criteria, zip(*chosen, strict=True), strict=True):
        counts = ", ".join(f"{name} ({names.count(name)})" for name in sorted(set(names)))
        console.print(f"{title} by {criterion}: {_percent(scores)}; chosen: {counts}")
    console.print(f"random: {_percent(blind)}")
    for within in WITHIN:
        whole = seen(CurveTask.of(curves), POLICIES[RECOMMENDED], within, SEEDS)
        console.print(f"top 1% of the whole table within {within}, {SEEDS} seeds: {_percent(whole)}")
    for workers in WORKERS:
        console.print(f"{CANDIDATES:,} candidates, {workers} workers: {decision_times(workers)}")


def _percent(shares: tuple[float, ...] | list[float]) -> str:
    mean, low, high = interval(shares)
    return f"{100 * mean:.1f}% [{100 * low:.1f}, {100 * high:.1f}]"


def decision_times(workers: int) -> str:
    """Return the CPU time of decisions until every candidate has been started, and of the latest ones."""
    task = CurveTask.of(synthetic("power_laws", 1, CANDIDATES, 51))
    order = task.order(0)
    simulation = Simulation(task.curves.values[order], task.curves.costs, task.features[order], float(CANDIDATES))
    times = [time.process_time()]
    for _ in simulation.run(POLICIES[RECOMMENDED], np.random.default_rng(0), workers):
        times.append(time.process_time())
        if (simulation.reached > 0).all():
            break
    durations = np.array([after - before for before, after in pairwise(times)])
    latest = 1e3 * durations[-LATEST:]
    per_trial = durations.sum() / int((simulation.reached > 0).sum())
    share = f"{100 * per_trial / TRIAL_SECONDS:.2f}% of trials of {TRIAL_SECONDS:g} s"
    return f"{share}; decisions p99 {np.quantile(latest, 0.99):.2f} ms, mean {latest.mean():.2f} ms"


if __name__ == "__main__":
    main()
