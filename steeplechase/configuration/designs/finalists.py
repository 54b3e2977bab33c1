"""Finalists: the best candidates of a search, compared at fresh seeds. Selection and verdict have different seeds."""

from typing import Annotated, Literal

from pydantic import Field

from steeplechase.foundation.schema import Count, Schema

SeveralSeeds = Annotated[int, Field(ge=2, le=2**53)]
Ablation = Literal["one_factor", "leave_one_out", "coalitions"]
"""Arms between the baseline and the winner: each of its changes alone, all but one, or every set of them."""


class Finalists(Schema):
    """The best candidates by the objectives at their last rung are trained to the end, beside the baseline."""

    count: Count = 3
    """Number of finalists."""
    seeds: SeveralSeeds = 5
    """Number of pretraining seeds of each, of the baseline and of the winner's ablation; the search has used none of
    them."""
