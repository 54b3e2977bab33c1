"""Sequential seeds: which seeds to add until every arm's comparison is decided. Pure.

At every planned look each arm's paired difference is tested at its share of the error (analysis/group_sequential.py),
adjusted for all arms tested at that look (Holm). An arm with a significant difference, or with one within the margin,
gets no more seeds; the other arms, and the baseline that they are paired with, go on to the next look.
"""

from collections.abc import Iterator, Mapping, Set

from analysis.paired import ALPHA, holm, interval, t_p, vary
from configuration.seeds import SequentialSeeds

Values = Mapping[str, Mapping[str, Mapping[int, float]]]
"""Arm -> metric -> pretraining seed -> value; diverged seeds have no value."""


def next_seeds(
    rule: SequentialSeeds, values: Values, run: Mapping[str, Set[int]], baseline: str
) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm, in the arms' order; empty if every arm is decided or has its maximum.

    `run` holds the seeds on which each arm has finished or diverged. Call it when no trial is running: the result
    depends on the values only, not on the time.
    """
    counts = {arm: len(seeds) for arm, seeds in run.items()}
    wanted = {arm: _next_look(rule, counts[arm]) for arm in _undecided(rule, values, counts, baseline)}
    wanted[baseline] = max([counts.get(baseline, 0), *wanted.values()])  # paired with every undecided arm
    added = {
        arm: tuple(seed for seed in range(1, wanted[arm] + 1) if seed not in seeds)
        for arm, seeds in run.items()
        if arm in wanted
    }
    return {arm: seeds for arm, seeds in added.items() if seeds}


def _next_look(rule: SequentialSeeds, count: int) -> int:
    """Return the number of seeds at the look after `count` seeds; `count` after the last look."""
    return next((look for look in rule.looks.counts if look > count), count)


def _undecided(rule: SequentialSeeds, values: Values, counts: Mapping[str, int], baseline: str) -> set[str]:
    cells = [(arm, metric) for arm in counts if arm != baseline for metric in rule.margin]
    differences = {cell: list(_differences(values, *cell, baseline)) for cell in cells}
    shares = {arm: rule.looks.share(count) for arm, count in counts.items()}
    p_values = [_adjusted_for_look(t_p(differences[cell]), shares[cell[0]]) for cell in cells]
    adjusted = dict(zip(cells, holm(p_values), strict=True))
    return {
        arm
        for arm, metric in cells
        if not _significant(adjusted[arm, metric])
        and not _within(differences[arm, metric], rule.margin[metric], 1 - ALPHA * shares[arm])
    }


def _differences(values: Values, arm: str, metric: str, baseline: str) -> Iterator[float]:
    arm_values, baseline_values = (values.get(name, {}).get(metric, {}) for name in (arm, baseline))
    return (arm_values[seed] - baseline_values[seed] for seed in sorted(arm_values.keys() & baseline_values.keys()))


def _adjusted_for_look(p: float | None, share: float) -> float | None:
    return None if p is None else min(1.0, p / share)


def _significant(p: float | None) -> bool:
    return p is not None and p <= ALPHA


def _within(differences: list[float], margin: float, confidence: float) -> bool:
    if len(differences) < 2 or not vary(differences):
        return False
    low, high = interval(differences, confidence)
    return -margin <= low and high <= margin
