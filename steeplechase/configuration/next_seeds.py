"""Sequential seeds: which seeds to add until every arm's comparison is decided. Pure.

At every planned look each arm's difference is tested at its share of the error (analysis/group_sequential.py), by the
test that the experiment declares, adjusted for all arms tested at that look (Holm). An arm with a significant
difference, or with one shown to lie within the margin, gets no more seeds, unless it has so few that a way of ending
which none of them took may be that of a larger share than declared (`unseen_mode`). The other arms, and the baseline
that they are compared with, go on to the next look.
"""

from collections.abc import Mapping, Set
from math import isnan

from steeplechase.analysis.difference import ALPHA, MeanTest
from steeplechase.analysis.effects import equivalence_p, estimate
from steeplechase.analysis.paired import holm
from steeplechase.analysis.proportions import unseen_at_most
from steeplechase.configuration.seeds import SequentialSeeds

Values = Mapping[str, Mapping[str, Mapping[int, float]]]
"""Arm -> metric -> pretraining seed -> value; diverged seeds have no value."""


def next_seeds(
    rule: SequentialSeeds,
    values: Values,
    run: Mapping[str, Set[int]],
    baseline: str,
    test: MeanTest = MeanTest.WELCH,
) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm, in the arms' order; empty if every arm is decided or has its maximum.

    Empty too where the baseline diverged in every seed: nothing is compared with it, so that no arm is ever decided.
    An arm that diverged in every seed gets none either: the report says so, and stable seeds would be a selection.

    `run` holds the seeds on which each arm has finished or diverged. Call it when no trial is running: the result
    depends on the values only, not on the time.
    """
    if _without_baseline(rule, values, baseline):
        return {}
    counts = {arm: len(seeds) for arm, seeds in run.items()}
    undecided = _undecided(rule, values, counts, baseline, test)
    wanted = {arm: next((look for look in rule.looks.counts if look > counts[arm]), counts[arm]) for arm in undecided}
    wanted[baseline] = max([counts.get(baseline, 0), *wanted.values()])  # compared with every undecided arm
    added = {
        arm: tuple(seed for seed in range(1, wanted[arm] + 1) if seed not in seeds)
        for arm, seeds in run.items()
        if arm in wanted
    }
    return {arm: seeds for arm, seeds in added.items() if seeds}


def _without_baseline(rule: SequentialSeeds, values: Values, baseline: str) -> bool:
    """Return whether all seeds of the baseline diverged, at once or before a metric that other arms have."""
    others = [of_arm for arm, of_arm in values.items() if arm != baseline]
    reached = values.get(baseline, {})
    lost = [metric for metric in rule.margin if not reached.get(metric)]
    return bool(lost) and (not any(reached.values()) or any(each.get(metric) for each in others for metric in lost))


def _undecided(
    rule: SequentialSeeds, values: Values, counts: Mapping[str, int], baseline: str, test: MeanTest
) -> set[str]:
    arms = [arm for arm in counts if arm != baseline]
    different: dict[tuple[str, str], float | None] = {}
    equivalent: dict[tuple[str, str], float | None] = {}
    for metric, margin in rule.margin.items():
        not_within: list[float | None] = []
        for arm in arms:
            sample, reference = (values.get(name, {}).get(metric, {}) for name in (arm, baseline))
            found, share = estimate(sample, reference, test), rule.looks.share(counts[arm])
            different[arm, metric] = _at_look(found.p().item(), share)
            not_within.append(_at_look(equivalence_p(found, margin).item(), share))
        equivalent |= zip(((arm, metric) for arm in arms), holm(not_within), strict=True)
    adjusted = dict(zip(different, holm([*different.values()]), strict=True))
    open_cells = {
        cell[0] for cell in different if not (_significant(adjusted[cell]) or _significant(equivalent[cell]))
    }
    diverged = {arm for arm in arms if not any(values.get(arm, {}).values())}  # in every seed
    return (open_cells | {arm for arm in arms if unseen_at_most(counts[arm]) > rule.unseen_mode}) - diverged


def _at_look(p: float, share: float) -> float | None:
    """Return a p divided by the share of the error at a look; None with too few seeds or without spread."""
    return None if isnan(p) else min(1.0, p / share)


def _significant(p: float | None) -> bool:
    return p is not None and p <= ALPHA
