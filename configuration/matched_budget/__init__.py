"""Budget-matched arms: a copy of every arm, resized to the baseline's budget."""

from configuration.matched_budget.match import Match
from configuration.matched_budget.matched_arms import THROUGHPUT, Throughput, add_matched_arms, nothing_measured

__all__ = ["THROUGHPUT", "Match", "Throughput", "add_matched_arms", "nothing_measured"]
