"""How long the recommended policy takes to decide as a study grows: CPU milliseconds per move, on made-up curves.

Usage: python -m benchmarks.replay_decisions [CANDIDATES]
"""

import sys
import time

import numpy as np
from rich.console import Console

from runners.curves.synthetic import synthetic
from runners.policies import POLICIES, RECOMMENDED
from runners.policies.race import Race
from runners.policies.replaying import Task


def main(candidates: int) -> None:
    """Race until every candidate is started and print the mean and the 99th percentile of the last 1,000 moves."""
    task = Task.of(synthetic("power_laws", 1, candidates, 51))
    order = task.order(0)
    race = Race(task.curves.values[order], task.curves.costs, task.features[order], float(candidates))
    times = [time.process_time()]
    for _ in race.run(POLICIES[RECOMMENDED], np.random.default_rng(0)):
        times.append(time.process_time())
        if (race.reached > 0).all():
            break
    moves = np.diff(times) * 1e3
    per_trial = moves.sum() / int((race.reached > 0).sum())
    latest = moves[-1000:]
    text = f"{candidates} candidates: mean {latest.mean():.2f} ms, p99 {np.quantile(latest, 0.99):.2f} ms of the last"
    Console().print(f"{text} {len(latest)} moves; {per_trial:.2f} ms per trial")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
