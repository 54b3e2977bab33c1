"""The evidence of one report, from which its sections, figures and finding are made."""

from dataclasses import dataclass
from functools import cached_property

from reports.statistics.budgets import BudgetGap, budget_gaps_of
from reports.statistics.pareto import Pareto, pareto_of
from reports.statistics.results import Results
from reports.statistics.shapley import ShapleyValues, shapley_values_of


@dataclass(frozen=True)
class Evidence:
    """The results, and the statistics that several sections and figures share."""

    results: Results
    """Results of every arm at the shared recipe."""
    own_recipes: Results | None = None
    """Results of every arm at the recipe that tuning selected for it; None before the selection or without tuning."""

    @cached_property
    def budget_gaps(self) -> tuple[BudgetGap, ...]:
        """Gaps in held-out loss by pretraining budget, where the baseline has several."""
        return budget_gaps_of(self.results)

    @cached_property
    def shapley_values(self) -> ShapleyValues | None:
        """What each change contributes over all orders of adding them; None where sets of changes are no arms."""
        return shapley_values_of(self.results)

    @cached_property
    def pareto(self) -> Pareto | None:
        """The results against their costs."""
        return pareto_of(self.results)
