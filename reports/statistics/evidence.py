"""The evidence of one report, from which its sections, figures and finding are made."""

from dataclasses import dataclass
from functools import cached_property

from reports.statistics.forecast import Forecast, forecast_of
from reports.statistics.pareto import Pareto, pareto_of
from reports.statistics.results import Results


@dataclass(frozen=True)
class Evidence:
    """The results, and the statistics that several sections and figures share."""

    results: Results
    """Results of every arm at the shared recipe."""
    own_recipes: Results | None = None
    """Results of every arm at the recipe that tuning selected for it; None before the selection or without tuning."""

    @cached_property
    def forecast(self) -> Forecast | None:
        """The extrapolated curves of the arms; None if the experiment declares no forecast."""
        return forecast_of(self.results)

    @cached_property
    def pareto(self) -> Pareto | None:
        """The results against their costs."""
        return pareto_of(self.results)
