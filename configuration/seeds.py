"""Seeds added until the table is decided: which arm gets which further seeds. Pure.

At every planned look each arm's paired difference is judged at its share of the error (analysis/group_sequential.py)
and against all arms that are judged with it (Holm). An arm that is told apart, or lies within the margin, gets no
more seeds; the others, and the baseline that they are paired with, go on to the next look.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Annotated, Self

from pydantic import Field, model_validator

from analysis.group_sequential import Looks
from analysis.paired import ALPHA, holm, interval, t_p, vary
from foundation.schema import Count, PositiveNumber, Schema, Seed

Values = Mapping[str, Mapping[str, Mapping[int, float]]]
"""Arm -> metric -> pretraining seed -> value; a seed that gave none (diverged) is left out."""


class SequentialSeeds(Schema):
    """How many seeds to begin with, how many at most, and which differences are too small to matter."""

    start: int = Field(default=3, ge=2, le=2**53)
    """Pretraining seeds that every arm begins with."""
    max: Count = Field(examples=[10])
    """Pretraining seeds of an arm at most."""
    step: Count = 2
    """Seeds from one look to the next; the last look is at `max`."""
    margin: Mapping[str, PositiveNumber] = Field(
        min_length=1, examples=[{"held_out_loss": 0.02}, {"score": 0.5, "docs_pair": 1.0}]
    )
    """By metric: the largest difference that counts as none. An arm is decided when it is on every metric here:
    `held_out_loss`, `score`, a task, or a task's further metric, `task:metric`.
    """

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.max <= self.start:
            raise ValueError(f"max {self.max} leaves nothing to add to start {self.start}")
        return self

    @property
    def looks(self) -> Looks:
        """The numbers of seeds at which arms are judged."""
        return Looks((*range(self.start, self.max, self.step), self.max))


class SeedsUntilDecided(Schema):
    """Pretraining seeds 1, 2, 3 and so on, as many as it takes."""

    until_decided: SequentialSeeds
    """How many seeds at first and at most, and which differences are too small to matter."""


Seeds = Annotated[tuple[Seed, ...], Field(min_length=1)] | SeedsUntilDecided


def first_seeds(seeds: Seeds) -> tuple[int, ...]:
    """Return the seeds that every arm is trained on."""
    return seeds if isinstance(seeds, tuple) else tuple(range(1, seeds.until_decided.start + 1))


def looks_of(seeds: Seeds) -> Looks:
    """Return when results are looked at; once where the seeds are listed."""
    return Looks(()) if isinstance(seeds, tuple) else seeds.until_decided.looks


def next_seeds(
    rule: SequentialSeeds, values: Values, run: Mapping[str, Set[int]], baseline: str
) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm, in the arms' order; empty when all is decided or spent.

    `run` holds the seeds on which each arm has been trained to an end, good or bad. To be asked when no trial is
    running; the answer depends on what was found alone, never on when.
    """
    counts = {arm: len(seeds) for arm, seeds in run.items()}
    wanted = {arm: _next_look(rule, counts[arm]) for arm in _undecided(rule, values, counts, baseline)}
    wanted[baseline] = max([counts.get(baseline, 0), *wanted.values()])  # the seeds of whoever goes on
    added = {
        arm: tuple(seed for seed in range(1, wanted[arm] + 1) if seed not in seeds)
        for arm, seeds in run.items()
        if arm in wanted
    }
    return {arm: seeds for arm, seeds in added.items() if seeds}


def _next_look(rule: SequentialSeeds, count: int) -> int:
    """Return the seeds at the look after `count` of them; as many as there are after the last look."""
    return next((look for look in rule.looks.counts if look > count), count)


def _undecided(rule: SequentialSeeds, values: Values, counts: Mapping[str, int], baseline: str) -> set[str]:
    cells = [(arm, metric) for arm in counts if arm != baseline for metric in rule.margin]
    differences = {cell: list(_differences(values, *cell, baseline)) for cell in cells}
    shares = {arm: rule.looks.share(count) for arm, count in counts.items()}
    p_values = [_over(t_p(differences[cell]), shares[cell[0]]) for cell in cells]
    adjusted = dict(zip(cells, holm(p_values), strict=True))
    return {
        arm
        for arm, metric in cells
        if not _told(adjusted[arm, metric])
        and not _within(differences[arm, metric], rule.margin[metric], 1 - ALPHA * shares[arm])
    }


def _differences(values: Values, arm: str, metric: str, baseline: str) -> Iterator[float]:
    mine, theirs = (values.get(name, {}).get(metric, {}) for name in (arm, baseline))
    return (mine[seed] - theirs[seed] for seed in sorted(mine.keys() & theirs.keys()))


def _over(p: float | None, share: float) -> float | None:
    return None if p is None else min(1.0, p / share)


def _told(p: float | None) -> bool:
    return p is not None and p <= ALPHA


def _within(differences: list[float], margin: float, confidence: float) -> bool:
    if len(differences) < 2 or not vary(differences):
        return False
    low, high = interval(differences, confidence)
    return -margin <= low and high <= margin
