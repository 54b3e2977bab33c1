"""`tune:`, which recipe values every arm is tried at before it is compared, on which seeds, for how many tokens.

Every arm is tried at the same points: an arm that was given other values, or more of them, would be helped by the
draw. So tuning is paired as the comparison is, and depends on one seed.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from foundation.errors import Violation
from foundation.schema import Count, PositiveNumber, Schema, Seed


class LogRange(Schema):
    """Any value between two, drawn evenly in its logarithm: `{ log: [1e-4, 1e-2] }`."""

    log: tuple[PositiveNumber, PositiveNumber]
    """The smallest and the largest value; draws are even in the logarithm."""

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return self.log


class LinearRange(Schema):
    """Any value between two, drawn evenly: `{ linear: [0, 0.3] }`."""

    linear: tuple[float, float]
    """The smallest and the largest value; draws are even between them."""

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
    """Recipe fields: listed values, or a range that values are drawn from."""
    trials: int = Field(ge=2, le=256, examples=[6])
    """Points that each arm is tried at, at most; the recipe that all arms share is always one of them."""
    seeds: tuple[Seed, ...] = Field(min_length=1, examples=[[101, 102]])
    """Pretraining seeds of tuning; the comparison has others."""
    tokens: Count | None = None
    """What a tuning trial is trained on; as much as in the comparison where nothing is said."""
    metric: Literal["held_out_loss", "score"] = "held_out_loss"
    """What is best: the mean over the seeds of the held-out loss, or of the score after fine-tuning."""
    sampler: Literal["qmc", "random"] = "qmc"
    """Who draws the points where there are ranges, or more combinations of the listed values than trials."""
    seed: Seed = 0
    """Of the sampler."""

    @property
    def larger_is_better(self) -> bool:
        """Which way the metric is better."""
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
        """Yield what is wrong with the values alone."""
        for path, axis in self.vary.items():
            if isinstance(axis, tuple):
                if not axis:
                    yield Violation(("vary", path), "no values to try; list at least one")
                for position, value in enumerate(axis):
                    if value in axis[:position]:
                        yield Violation(("vary", path, position), f"{value} stands twice on this axis")
            elif axis.ends[0] >= axis.ends[1]:
                low, high = axis.ends
                yield Violation(
                    ("vary", path), f"from {low:g} to {high:g} there is nothing; the smaller end is first"
                )
        for position, seed in enumerate(self.seeds):
            if seed in self.seeds[:position]:
                yield Violation(("seeds", position), f"{seed} stands twice")
