"""Hurdles: rules for early stopping. A hurdle is a pure function of recorded values."""

from typing import Annotated

from steeplechase.configuration.hurdles.cohorts import Asha, Hyperband, TopFraction
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.configuration.hurdles.rank_checked import RankChecked
from steeplechase.configuration.hurdles.rungs import Finite, Pause
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
