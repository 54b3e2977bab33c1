"""The recommended policy against references and the objects of other libraries, on recorded curves and on families.

Shares with the lowest mean logarithm of the ratio to `asha`, over the budgets and all tasks but one, are scored on
the task that was left out: what a choice on known tasks promises for an unknown one. The families are instances that
no choice has seen: others of the families that policies were chosen on, and families of `HELD_OUT` and `LATER`.
Usage: python -m benchmarks.replay_generalisation CURVES [SEEDS [SEEDS OF OTHER LIBRARIES]]
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.replay_peers import peers
from runners.policies import POLICIES, RECOMMENDED
from runners.policies.backtested_slopes import BacktestedSlopes
from runners.policies.policy import PolicyFactory
from runners.replay.curves.reading import read_curves
from runners.replay.curves.synthetic import FAMILIES, HELD_OUT, LATER, PARALLEL, synthetic
from runners.replay.replay import CurveTask, regrets

BUDGETS = (5.0, 10.0, 20.0)
REFERENCES = ("asha", "promoting_asha")
OTHERS = ("freeze_thaw", "successive_halving", "random")
INSTANCES, ORDERS = range(101, 113), range(3)
"""Instances of each family, not among those that policies were chosen on, and orders of candidates of each."""
RESAMPLES = 2000
LEAST = 1e-3  # regrets below are equal in logarithms, and ratios to smaller ones have no meaning

Regrets = NDArray[np.float64]  # [tasks, seeds, budgets]


def shares(looks: float, learned: float, drawn: float, promotions: float) -> PolicyFactory:
    """Return the policy with other shares, that of looks whatever the control says."""
    parts = {"looks": looks, "learned": learned, "drawn": drawn, "promotions": promotions}
    return lambda view, generator: BacktestedSlopes(view, generator, {k: v for k, v in parts.items() if v}, looks)


VARIANTS: Mapping[str, PolicyFactory] = {
    RECOMMENDED: BacktestedSlopes,
    "looks 50%": shares(0.5, 0.15, 0.15, 0.2),
    "looks 40%": shares(0.4, 0.2, 0.2, 0.2),
    "looks 40%, promotions 30%": shares(0.4, 0.15, 0.15, 0.3),
    "looks 50%, no promotions": shares(0.5, 0.25, 0.25, 0.0),
    "looks 50%, no drawn trust": shares(0.5, 0.3, 0.0, 0.2),
}
"""The recommended policy, and constant shares."""


def found(tasks: Sequence[CurveTask], policy: PolicyFactory, seeds: range) -> Regrets:
    """Return the normalised regrets of a policy."""
    return np.array([[regrets(task, policy, BUDGETS, seed) for seed in seeds] for task in tasks])


def ratio(own: Regrets, reference: Regrets) -> str:
    """Return the ratio of mean regrets at each budget; 95% intervals, paired bootstrap over tasks and seeds."""
    chance, cells = np.random.default_rng(0), []
    reference = reference[:, : own.shape[1]]
    tasks, seeds, _ = own.shape
    picks = [np.ix_(chance.integers(tasks, size=tasks), chance.integers(seeds, size=seeds)) for _ in range(RESAMPLES)]
    for mine, other in zip(np.moveaxis(own, 2, 0), np.moveaxis(reference, 2, 0), strict=True):
        low, high = np.quantile(
            [mine[pick].mean() / max(other[pick].mean(), LEAST) for pick in picks], [0.025, 0.975]
        )
        cells.append(f"{mine.mean() / max(other.mean(), LEAST):.2f} [{low:.2f}, {high:.2f}]")
    return ", ".join(cells)


def left_out(own: Mapping[str, Regrets], reference: Regrets) -> tuple[list[str], Regrets]:
    """Return the variant chosen without each task, and its regrets on that task."""
    means = {name: np.log(np.maximum(regret.mean(axis=1), LEAST)) for name, regret in own.items()}
    bases, chosen = np.log(np.maximum(reference.mean(axis=1), LEAST)), list[str]()
    for task in range(len(reference)):
        others = [other for other in range(len(reference)) if other != task]
        chosen.append(min(means, key=lambda name: float((means[name] - bases)[others].mean())))
    return chosen, np.array([own[name][task] for task, name in enumerate(chosen)])


def main() -> None:
    """Print the tables of tasks and of families as Markdown, row by row."""
    seeds = range(int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    of_peers = range(int(sys.argv[3]) if len(sys.argv) > 3 else len(seeds))
    tasks = [CurveTask.of(curves) for curves in read_curves(Path(sys.argv[1]))]
    references = {name: found(tasks, POLICIES[name], seeds) for name in REFERENCES}
    title = f"{len(tasks)} tasks, {len(seeds)} seeds, {len(of_peers)} of other libraries"
    _row(f"policy ({title})", "regret at 5, 10, 20 trainings", "/ asha", "worst task / asha", "/ promoting_asha")
    _row(*["---"] * 5)
    variants: dict[str, Regrets] = {}
    for name, policy in VARIANTS.items():
        variants[name] = found(tasks, policy, seeds)
        _of_tasks(name, variants[name], references)
    chosen, scored = left_out(variants, references["asha"])
    _of_tasks(f"chosen without the task: {', '.join(sorted(set(chosen)))}", scored, references)
    for name, own in references.items():
        _of_tasks(name, own, references)
    for name in OTHERS:
        _of_tasks(name, found(tasks, POLICIES[name], seeds), references)
    for name, policy in peers().items():
        _of_tasks(name, found(tasks, policy, of_peers), references)
    _row()
    title = f"{len(INSTANCES)} instances, {len(ORDERS)} orders of each"
    _row(f"family ({title})", f"{RECOMMENDED} at 5, 10, 20", "asha", "/ asha", "/ promoting_asha")
    _row(*["---"] * 5)
    for family in (*sorted(FAMILIES), *sorted(HELD_OUT), *sorted(LATER), *PARALLEL):
        _of_family(family)


def _of_tasks(name: str, own: Regrets, references: Mapping[str, Regrets]) -> None:
    asha = references["asha"][:, : own.shape[1]]
    worst = (own.mean(axis=1) / asha.mean(axis=1)).max(axis=0)
    ratios = [ratio(own, references[reference]) for reference in REFERENCES]
    _row(name, _numbers(own.mean(axis=(0, 1)), 3), ratios[0], _numbers(worst, 2), ratios[1])


def _of_family(family: str) -> None:
    tasks = [CurveTask.of(synthetic(family, number)) for number in INSTANCES]
    own, asha, promoting = (found(tasks, POLICIES[name], ORDERS) for name in (RECOMMENDED, *REFERENCES))
    means = [_numbers(regret.mean(axis=(0, 1)), 3) for regret in (own, asha)]
    held_out = "" if family in {*FAMILIES, *PARALLEL} else " (held out)"
    _row(family + held_out, *means, ratio(own, asha), ratio(own, promoting))


def _row(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n" if cells else "\n")
    sys.stdout.flush()


def _numbers(values: NDArray[np.float64], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


if __name__ == "__main__":
    main()
