"""Hurdles: rules for early stopping, one file each. A hurdle is a pure function of recorded values."""

from typing import Annotated

from steeplechase.configuration.hurdles.asha import Asha
from steeplechase.configuration.hurdles.finite import Finite
from steeplechase.configuration.hurdles.hyperband import Hyperband
from steeplechase.configuration.hurdles.pause import Pause
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.configuration.hurdles.rank_checked import RankChecked
from steeplechase.configuration.hurdles.top_fraction import TopFraction
from steeplechase.foundation.schema import OPTION

HurdleRule = Annotated[Finite | ProgressiveMean | TopFraction | Asha | RankChecked | Hyperband | Pause, OPTION]

__all__ = [
    "Asha",
    "Finite",
    "HurdleRule",
    "Hyperband",
    "Pause",
    "ProgressiveMean",
    "RankChecked",
    "TopFraction",
]
