"""Which trials spend the next budget: one file per hurdle. A hurdle is a pure function of recorded values."""

from typing import Annotated

from runners.hurdles.asha import Asha
from runners.hurdles.extrapolate import Extrapolate
from runners.hurdles.finite import Finite
from runners.hurdles.hyperband import Hyperband
from runners.hurdles.progressive_mean import ProgressiveMean
from runners.hurdles.top_fraction import TopFraction
from search_space.declaration import OPTION

HurdleRule = Annotated[Finite | ProgressiveMean | TopFraction | Asha | Hyperband | Extrapolate, OPTION]

__all__ = ["Asha", "Extrapolate", "Finite", "HurdleRule", "Hyperband", "ProgressiveMean", "TopFraction"]
