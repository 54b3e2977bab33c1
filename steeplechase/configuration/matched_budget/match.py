"""`match:`, the budget to equalise, the size that is adjusted for it, and the tolerance."""

from typing import Annotated, Literal

from pydantic import Field

from steeplechase.foundation.schema import Schema

Tolerance = Annotated[float, Field(gt=0, lt=1)]


class Match(Schema):
    """`match: { budget: parameters, by: feed_forward_width }`: each arm gets a copy with equal parameters."""

    budget: Literal["parameters", "train_flops"] = Field(examples=["parameters"])
    """`parameters`: of the encoder with embeddings. `train_flops`: of pretraining, with generator and heads."""
    by: Literal["feed_forward_width", "width", "depth", "tokens"] = Field(examples=["feed_forward_width"])
    """The size that is adjusted; tokens change in whole updates."""
    tolerance: Tolerance = 0.01
    """The largest relative difference between a copy's budget and the baseline's."""
