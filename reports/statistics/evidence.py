"""The evidence of one report, from which its sections, figures and finding are made."""

from dataclasses import dataclass

from reports.statistics.results import Results


@dataclass(frozen=True)
class Evidence:
    """The results at the shared recipe and, of a tuned experiment, at own recipes."""

    results: Results
    """Results of every arm at the shared recipe."""
    own_recipes: Results | None = None
    """Results of every arm at the recipe that tuning selected for it; None before the selection or without tuning."""
