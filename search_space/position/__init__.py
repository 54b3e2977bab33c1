"""How a token's position enters the model: one file per option."""

from typing import Annotated

from search_space.position.clipped_relative import ClippedRelativePositions
from search_space.position.learned import LearnedPositions
from search_space.position.none import NoPositions
from search_space.position.option import PositionOption
from search_space.position.relative import RelativePositions
from search_space.position.sinusoidal import SinusoidalPositions
from steeplechase.foundation.schema import OPTION

Position = Annotated[PositionOption, OPTION]

__all__ = [
    "ClippedRelativePositions",
    "LearnedPositions",
    "NoPositions",
    "Position",
    "PositionOption",
    "RelativePositions",
    "SinusoidalPositions",
]
