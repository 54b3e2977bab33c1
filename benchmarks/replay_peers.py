"""Compares replay policies with ASHA and Hyperband of Optuna and Ray Tune, on the same curves and budgets.

The peers' own objects decide (Optuna's pruners, Ray Tune's ASHAScheduler), with one worker; each is wrapped as a
policy, with the same simulation, costs and order of candidates. They have their defaults except η = 3 and a first
rung at the first point, as in the replayed hurdles. Usage: python -m benchmarks.replay_peers CURVES [SEEDS [POLICY
...]]
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import optuna
from ray.tune.experiment import Trial as RayTrial
from ray.tune.schedulers import ASHAScheduler
from rich.console import Console
from rich.table import Table

from runners.replay import POLICIES, Policy
from runners.replay.curves.reading import read_curves
from runners.replay.hurdle_settings import REDUCTION_FACTOR
from runners.replay.replay import CurveTask, interval, replay
from runners.replay.simulation import Action, View

BUDGETS = (5.0, 10.0, 20.0)
REFERENCE = "successive_halving"
DIVERGED = 1e12  # reported to the peers in place of an infinite loss


def optuna_policy(pruner: Callable[[int], Any]) -> Policy:
    """Return the policy of an Optuna pruner, consulted after every point."""

    def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
        end = len(view.costs)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner(end))
        for candidate in range(len(view.reached)):
            trial = study.ask()
            for points in range(1, end + 1):
                yield Action(candidate, points)
                value = float(view.observed[candidate, points - 1])
                trial.report(min(value, DIVERGED), points)
                if np.isinf(value) or trial.should_prune():
                    study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                    break
            else:
                study.tell(trial, float(view.observed[candidate, end - 1]))

    return actions


def ray_policy(brackets: int) -> Policy:
    """Return the policy of Ray Tune's ASHAScheduler, consulted after every point."""

    def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
        end = len(view.costs)
        scheduler = ASHAScheduler(
            metric="value",
            mode="min",
            max_t=end,
            grace_period=1,
            reduction_factor=REDUCTION_FACTOR,
            brackets=brackets,
        )
        for candidate in range(len(view.reached)):
            trial = RayTrial("replayed", stub=True)
            scheduler.on_trial_add(None, trial)
            for points in range(1, end + 1):
                yield Action(candidate, points)
                value = min(float(view.observed[candidate, points - 1]), DIVERGED)
                result = {"training_iteration": points, "value": value}
                if scheduler.on_trial_result(None, trial, result) != ASHAScheduler.CONTINUE or value == DIVERGED:
                    break
            scheduler.on_trial_complete(None, trial, result)

    return actions


def _halving(end: int) -> Any:
    return optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=REDUCTION_FACTOR)


def _hyperband(end: int) -> Any:
    return optuna.pruners.HyperbandPruner(min_resource=1, max_resource=end, reduction_factor=REDUCTION_FACTOR)


PEERS: dict[str, Policy] = {
    "optuna SuccessiveHalvingPruner": optuna_policy(_halving),
    "optuna HyperbandPruner": optuna_policy(_hyperband),
    "ray ASHAScheduler": ray_policy(1),
    "ray ASHAScheduler, 3 brackets": ray_policy(3),
}


def main(path: Path, seeds: int, names: list[str]) -> None:
    """Simulate every policy on every task and print a table of means over tasks."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    tasks = [CurveTask.of(curves) for curves in read_curves(path)]
    chosen = {name: POLICIES[name] for name in names or POLICIES} | ({} if names else PEERS)
    chosen = {REFERENCE: POLICIES[REFERENCE], **chosen}
    regrets = {
        name: [_regrets(tasks, policy, budget, seeds) for budget in BUDGETS] for name, policy in chosen.items()
    }
    table = Table(box=None, title=f"normalised regret, {len(tasks)} tasks, {seeds} seeds; in brackets: / {REFERENCE}")
    for heading in (
        "policy",
        *(f"{budget:g} trainings" for budget in BUDGETS),
        f"worst task / {REFERENCE}",
        "seconds",
    ):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for name, per_budget in regrets.items():
        cells = [
            _cell(regret, reference)
            for (regret, _), (reference, _) in zip(per_budget, regrets[REFERENCE], strict=True)
        ]
        worst = max(
            float(np.max(regret.mean(axis=1) / reference.mean(axis=1)))
            for (regret, _), (reference, _) in zip(per_budget, regrets[REFERENCE], strict=True)
        )
        table.add_row(name, *cells, f"{worst:.2f}", f"{sum(seconds for _, seconds in per_budget):.1f}")
    Console(width=200).print(table)


def _regrets(tasks: list[CurveTask], policy: Policy, budget: float, seeds: int) -> tuple[Any, float]:
    """Return regrets [tasks, seeds] and the elapsed seconds."""
    began = time.perf_counter()
    regrets = [[replay(task, policy, budget, seed).regret for seed in range(seeds)] for task in tasks]
    return np.array(regrets), time.perf_counter() - began


def _cell(regret: Any, reference: Any) -> str:
    per_seed = regret.mean(axis=0).tolist()
    mean, low, high = interval(per_seed)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}] ({mean / fmean(reference.mean(axis=0).tolist()):.2f})"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20, sys.argv[3:])
