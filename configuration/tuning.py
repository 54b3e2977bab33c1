"""`tune:`, recipe values at which every arm is tried before the comparison, with the seeds and tokens of the trials.

Every arm is tried at the same points, so that no arm gets better or more draws than another. Tuning is paired like
the comparison, and depends on one seed.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from foundation.errors import Violation, listed_twice
from foundation.schema import Count, PositiveNumber, Schema, Seed


class LogRange(Schema):
    """Log-uniform range: `{ log: [1e-4, 1e-2] }`."""

    log: tuple[PositiveNumber, PositiveNumber]
    """The smallest and the largest value; draws are uniform in the logarithm."""

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return self.log


class LinearRange(Schema):
    """Uniform range: `{ linear: [0, 0.3] }`."""

    linear: tuple[float, float]
    """The smallest and the largest value; draws are uniform between them."""

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return self.linear


Range = LogRange | LinearRange


def _tag(value: Any) -> str:
    if isinstance(value, LogRange) or (isinstance(value, Mapping) and "log" in value):
        return "log"
    return "linear" if isinstance(value, LinearRange | Mapping) else "values"


Values = tuple[Any, ...]
Axis = Annotated[
    Annotated[LogRange, Tag("log")] | Annotated[LinearRange, Tag("linear")] | Annotated[Values, Tag("values")],
    Discriminator(_tag),
]
"""Listed values, or a range."""


class Tune(Schema):
    """`tune: { vary: { recipe.peak_learning_rate: [1e-3, 3e-3, 1e-2] }, trials: 3, seeds: [101, 102] }`."""

    vary: Mapping[str, Axis] = Field(
        min_length=1,
        examples=[{"recipe.peak_learning_rate": {"log": [1e-4, 1e-2]}, "recipe.weight_decay": [0.0, 0.01, 0.1]}],
    )
    """By recipe field: listed values, or a range from which values are drawn."""
    trials: int = Field(ge=2, le=256, examples=[6])
    """Maximum number of points per arm; the shared recipe of all arms is always one of them."""
    seeds: tuple[Seed, ...] = Field(min_length=1, examples=[[101, 102]])
    """Pretraining seeds of tuning, disjoint from those of the comparison."""
    tokens: Count | None = None
    """Training tokens of a tuning trial; by default as many as in the comparison."""
    metric: Literal["held_out_loss", "score"] = "held_out_loss"
    """The metric that selects a point: the mean over the seeds of the held-out loss, or of the fine-tuning score."""
    sampler: Literal["qmc", "random"] = "qmc"
    """Sampler of the points if there are ranges, or more combinations of listed values than trials."""
    seed: Seed = 0
    """Seed of the sampler."""

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values of the metric are better."""
        return self.metric == "score"

    @property
    def listed(self) -> dict[str, tuple[Any, ...]]:
        """The axes whose values are listed."""
        return {path: axis for path, axis in self.vary.items() if isinstance(axis, tuple)}

    @property
    def ranges(self) -> dict[str, Range]:
        """The axes that are ranges."""
        return {path: axis for path, axis in self.vary.items() if not isinstance(axis, tuple)}

    def own_violations(self) -> Iterator[Violation]:
        """Yield the violations that depend on this section only."""
        for path, axis in self.vary.items():
            if isinstance(axis, tuple):
                if not axis:
                    yield Violation(("vary", path), "no values to try; list at least one")
                for position, value in enumerate(axis):
                    if value in axis[:position]:
                        yield Violation(("vary", path, position), f"{value} is listed twice on this axis")
            elif axis.ends[0] >= axis.ends[1]:
                low, high = axis.ends
                yield Violation(
                    ("vary", path), f"the range from {low:g} to {high:g} is empty; write the smaller end first"
                )
        yield from listed_twice(self.seeds, "seeds")
