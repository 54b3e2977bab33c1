"""Budget-matched arms: beside every arm its twin that spends what the baseline spends."""

from runners.matching.match import Match
from runners.matching.twins import enter_twins

__all__ = ["Match", "enter_twins"]
