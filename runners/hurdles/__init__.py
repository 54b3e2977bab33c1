"""Which trials spend the next budget: one file per hurdle. A hurdle is a pure function of recorded values."""

from typing import Annotated

from pydantic import Field

from runners.hurdles.finite import Finite
from runners.hurdles.progressive_mean import ProgressiveMean

HurdleRule = Annotated[Finite | ProgressiveMean, Field(discriminator="kind")]

__all__ = ["Finite", "HurdleRule", "ProgressiveMean"]
