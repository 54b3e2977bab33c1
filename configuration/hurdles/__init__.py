"""Hurdles: rules for early stopping, one file each. A hurdle is a pure function of recorded values."""

from typing import Annotated

from configuration.hurdles.asha import Asha
from configuration.hurdles.finite import Finite
from configuration.hurdles.hyperband import Hyperband
from configuration.hurdles.pause import Pause
from configuration.hurdles.progressive_mean import ProgressiveMean
from configuration.hurdles.top_fraction import TopFraction
from configuration.hurdles.zero_cost import ZeroCost
from foundation.schema import OPTION

HurdleRule = Annotated[Finite | ProgressiveMean | TopFraction | Asha | Hyperband | Pause | ZeroCost, OPTION]

__all__ = [
    "Asha",
    "Finite",
    "HurdleRule",
    "Hyperband",
    "Pause",
    "ProgressiveMean",
    "TopFraction",
    "ZeroCost",
]
