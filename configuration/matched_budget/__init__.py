"""Budget-matched arms: beside every arm its twin that spends what the baseline spends."""

from configuration.matched_budget.match import Match
from configuration.matched_budget.matched_arms import THROUGHPUT, Throughput, enter_twins, nothing_measured

__all__ = ["THROUGHPUT", "Match", "Throughput", "enter_twins", "nothing_measured"]
