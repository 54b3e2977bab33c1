"""Sequential seeds: seeds are added until every arm's comparison is decided. Pure.

At every planned look each arm's difference is tested at its share of the error (analysis/group_sequential.py), by the
test that the experiment declares, adjusted for all arms tested at that look (Holm). An arm with a significant
difference, or with one shown to lie within the margin, gets no more seeds; the other arms, and the baseline that they
are compared with, go on to the next look.
"""

from collections.abc import Mapping, Set
from math import isnan
from typing import Annotated, Self

from pydantic import Field, model_validator

from analysis.effects import MeanTest, estimate
from analysis.equivalence import equivalence_p
from analysis.group_sequential import Looks
from analysis.paired import ALPHA, holm
from foundation.schema import Count, PositiveNumber, Schema, Seed

Values = Mapping[str, Mapping[str, Mapping[int, float]]]
"""Arm -> metric -> pretraining seed -> value; diverged seeds have no value."""


class SequentialSeeds(Schema):
    """Initial and maximum number of seeds, the step between looks, and the equivalence margins."""

    start: int = Field(default=3, ge=2, le=2**53)
    """Initial number of pretraining seeds of every arm."""
    max: Count = Field(examples=[10])
    """Maximum number of pretraining seeds of an arm."""
    step: Count = 2
    """Number of seeds from one look to the next; the last look is at `max`."""
    margin: Mapping[str, PositiveNumber] = Field(
        min_length=1, examples=[{"held_out_loss": 0.02}, {"score": 0.5, "docs_pair": 1.0}]
    )
    """Equivalence margin by metric. An arm is decided when it is decided on every metric here: `held_out_loss`,
    `score`, a task, or a further metric of a task, `task:metric`.
    """

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.max <= self.start:
            raise ValueError(f"max {self.max} must be above start {self.start}")
        return self

    @property
    def looks(self) -> Looks:
        """The numbers of seeds at which arms are tested."""
        return Looks((*range(self.start, self.max, self.step), self.max))


class SeedsUntilDecided(Schema):
    """Pretraining seeds 1, 2, 3, …, until every comparison is decided."""

    until_decided: SequentialSeeds
    """Initial and maximum number of seeds, the step between looks, and the equivalence margins."""


Seeds = Annotated[tuple[Seed, ...], Field(min_length=1)] | SeedsUntilDecided


def first_seeds(seeds: Seeds) -> tuple[int, ...]:
    """Return the seeds that every arm is trained on."""
    return seeds if isinstance(seeds, tuple) else tuple(range(1, seeds.until_decided.start + 1))


def looks_of(seeds: Seeds) -> Looks:
    """Return the numbers of seeds at which results are tested; no interim look if the seeds are listed."""
    return Looks(()) if isinstance(seeds, tuple) else seeds.until_decided.looks


def next_seeds(
    rule: SequentialSeeds,
    values: Values,
    run: Mapping[str, Set[int]],
    baseline: str,
    test: MeanTest = MeanTest.WELCH,
) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm, in the arms' order; empty if every arm is decided or has its maximum.

    `run` holds the seeds on which each arm has finished or diverged. Call it when no trial is running: the result
    depends on the values only, not on the time.
    """
    counts = {arm: len(seeds) for arm, seeds in run.items()}
    wanted = {arm: _next_look(rule, counts[arm]) for arm in _undecided(rule, values, counts, baseline, test)}
    wanted[baseline] = max([counts.get(baseline, 0), *wanted.values()])  # compared with every undecided arm
    added = {
        arm: tuple(seed for seed in range(1, wanted[arm] + 1) if seed not in seeds)
        for arm, seeds in run.items()
        if arm in wanted
    }
    return {arm: seeds for arm, seeds in added.items() if seeds}


def _next_look(rule: SequentialSeeds, count: int) -> int:
    """Return the number of seeds at the look after `count` seeds; `count` after the last look."""
    return next((look for look in rule.looks.counts if look > count), count)


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
    return {cell[0] for cell in different if not (_significant(adjusted[cell]) or _significant(equivalent[cell]))}


def _at_look(p: float, share: float) -> float | None:
    """Return a p divided by the share of the error at a look; None with too few seeds or without spread."""
    return None if isnan(p) else min(1.0, p / share)


def _significant(p: float | None) -> bool:
    return p is not None and p <= ALPHA
