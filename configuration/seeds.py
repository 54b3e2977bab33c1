"""Sequential seeds: seeds are added until every arm's comparison is decided. Pure.

At every planned look each arm's paired difference is tested at its share of the error (analysis/group_sequential.py),
adjusted for all arms tested at that look (Holm). An arm with a significant difference, or with one within the margin,
gets no more seeds; the other arms, and the baseline that they are paired with, go on to the next look.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Annotated, Self

from pydantic import Field, model_validator

from analysis.group_sequential import Looks
from analysis.paired import ALPHA, holm, interval, t_p, vary
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
