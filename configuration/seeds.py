"""`pretraining.seeds`: a list, or sequential seeds, which are added until every arm's comparison is decided."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from analysis.group_sequential import Looks
from foundation.schema import Count, PositiveNumber, Schema, Seed


class SequentialSeeds(Schema):
    """Initial and maximum number of seeds, the step between looks, and the equivalence margins.

    For studies in which a seed is expensive: seeds added after a look at the results need a correction for the looks.
    """

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
