"""Budget-matched arms: a copy of every arm, resized to the baseline's budget."""

from steeplechase.configuration.matched_budget.match import Match
from steeplechase.configuration.matched_budget.matched_arms import add_matched_arms

__all__ = ["Match", "add_matched_arms"]
