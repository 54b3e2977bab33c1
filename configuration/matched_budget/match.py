"""What is to be equal, how nearly, and which size gives way."""

from typing import Annotated, Literal

from pydantic import Field

from foundation.schema import Schema

Tolerance = Annotated[float, Field(gt=0, lt=1)]


class Match(Schema):
    """`match: { budget: parameters, by: feed_forward_width }`: each arm gets a copy of equal parameters."""

    budget: Literal["parameters", "train_flops", "seconds"] = Field(examples=["parameters"])
    """`parameters`: of the encoder with its embeddings. `train_flops`: of pretraining, generator and heads included.
    `seconds`: of pretraining, as measured before."""
    by: Literal["feed_forward_width", "width", "depth", "tokens"] = Field(examples=["feed_forward_width"])
    """The size that absorbs the difference; tokens are seen in whole updates."""
    tolerance: Tolerance = 0.01
    """The largest share by which a copy's budget may differ from the baseline's."""
    measured_in: str | None = None
    """For `seconds`: the results folder of a finished run of the same arms, on this machine."""
