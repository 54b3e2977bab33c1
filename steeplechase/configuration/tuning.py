"""`tune:`, recipe values at which every arm is tried before the comparison, with the seeds and tokens of the trials.

Every arm is tried at the same points, so that no arm gets better or more draws than another. Tuning is paired like
the comparison.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from steeplechase.configuration.designs.axis_values import Axis
from steeplechase.configuration.seeds import SeedList
from steeplechase.foundation.errors import Violation, listed_twice
from steeplechase.foundation.schema import Count, Schema


class Tune(Schema):
    """`tune: { vary: { recipe.peak_learning_rate: [1e-3, 3e-3, 1e-2] }, trials: 3, seeds: [101, 102] }`."""

    vary: Mapping[str, Axis] = Field(
        min_length=1,
        examples=[{"recipe.peak_learning_rate": [1e-4, 1e-3, 1e-2], "recipe.weight_decay": [0.0, 0.01, 0.1]}],
    )
    """By recipe field: the values to try, or a range of them. Every combination is a point."""
    trials: int = Field(ge=2, le=256, examples=[9])
    """Maximum number of points per arm; the shared recipe of all arms is always one of them."""
    seeds: SeedList = Field(min_length=1, examples=[[101, 102]])
    """Pretraining seeds of tuning, disjoint from those of the comparison."""
    tokens: Count | None = None
    """Training tokens of a tuning trial; by default as many as in the comparison."""
    metric: Literal["held_out_loss", "score"] = "held_out_loss"
    """The metric that selects a point: the mean over the seeds of the held-out loss, or of the fine-tuning score, for
    arms whose objectives have losses that are not comparable.
    """

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values of the metric are better."""
        return self.metric == "score"

    def own_violations(self) -> Iterator[Violation]:
        """Yield the violations that depend on this section only."""
        for path, axis in self.vary.items():
            if not axis:
                yield Violation(("vary", path), "no values to try; list at least one")
            for position, value in enumerate(axis):
                if value in axis[:position]:
                    yield Violation(("vary", path, position), f"{value} is listed twice on this axis")
        yield from listed_twice(self.seeds, "seeds")
