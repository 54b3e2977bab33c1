"""Seeds: a list, a number or a range of them, or sequential ones, added until every arm's comparison is decided."""

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from steeplechase.analysis.group_sequential import Looks
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.schema import Count, PositiveNumber, Schema, Seed


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

    unseen_mode: float = Field(default=0.5, gt=0, le=1)
    """No arm is decided while a way of ending that none of its seeds took, such as staying on the plateau of the
    loss, may be that of a larger share of seeds (95%): 0.5 needs 5 seeds, 0.35 needs 7, 1 any number."""

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


SEEDS_AT_MOST = 10_000
"""Seeds that a number or a range may stand for."""
_RANGE = re.compile(r"\s*([0-9]{1,10})\s*-\s*([0-9]{1,10})\s*")
_NUMBER_OR_RANGE = Annotated[int, Field(ge=1, le=SEEDS_AT_MOST)] | Annotated[str, Field(pattern=r"^[0-9]+-[0-9]+$")]


def _listed(value: object) -> object:
    """Return the seeds 1, 2, 3 for the number 3, and 4, 5, 6 for the range `4-6`; a list or mapping as it is."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, bool | int | float | str):
        return value
    found = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if found is None and (isinstance(value, bool) or not isinstance(value, int)):
        needed = "a number of seeds such as 3, a range such as 1-5, or a list such as [1, 2, 3] is needed"
        raise ValueError(f"{canonical_text(value)[:60]} is no number of seeds; {needed}")
    first, last = (1, int(value)) if found is None else (int(found[1]), int(found[2]))
    if not first <= last < first + SEEDS_AT_MOST:
        raise ValueError(f"{str(value)[:60]} names no seeds or too many; 1 to {SEEDS_AT_MOST} are allowed")
    return tuple(range(first, last + 1))


def seeds_in(text: str) -> tuple[int, ...]:
    """Return the seeds of a text of numbers and ranges such as `1,2` or `1-3`. Raises ValueError."""
    needed = "write seeds as 1,2 or 1-3"
    seeds: list[int] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        first, last = (found[1], found[2]) if found else (part.strip(), part.strip())
        if not (first.isdecimal() and int(first) <= int(last) < int(first) + SEEDS_AT_MOST):
            raise ValueError(f"{part.strip()!r} is no seed; {needed}")
        seeds += range(int(first), int(last) + 1)
    return tuple(dict.fromkeys(seeds))


SeedList = Annotated[
    tuple[Seed, ...], BeforeValidator(_listed, json_schema_input_type=tuple[Seed, ...] | _NUMBER_OR_RANGE)
]
"""Seeds in a list; `3` is the first three, `1-5` a range."""
Seeds = SeedList | SeedsUntilDecided
"""Pretraining seeds; none where an experiment has no trials."""


def first_seeds(seeds: Seeds) -> tuple[int, ...]:
    """Return the seeds that every arm is trained on."""
    return seeds if isinstance(seeds, tuple) else tuple(range(1, seeds.until_decided.start + 1))


def looks_of(seeds: Seeds) -> Looks:
    """Return the numbers of seeds at which results are tested; no interim look if the seeds are listed."""
    return Looks(()) if isinstance(seeds, tuple) else seeds.until_decided.looks
