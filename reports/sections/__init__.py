"""The questions of a report, one file each, found by listing this folder.

The tuples below order what readers see; a question that is in none of them comes last, by the name of its file.
"""

import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module

from reports.section import Section
from reports.statistics.results import Results

TABLES = (
    *(
        "candidates",
        "main_table",
        "plateau",
        "tokens_to_loss",
        "pruning",
        "rare_words",
        "perplexity",
        "generated_texts",
        "attention",
    ),
    *("factors", "shapley", "verdicts", "claims", "gap_by_budget"),
    "single_change_effects",
    *("importance", "lineage", "hurdle_savings", "audit", "pareto", "reference", "task_pilot"),
    *("frozen_tasks", "paper_comparison", "differences_from_paper", "truncation", "contamination"),
    *("searched_settings", "tuned_effects", "tuning_trials"),
)
"""Whose tables come first."""
FIGURES = (
    *("axis_response", "ladder", "attention", "curves", "tokens_to_loss", "gap_by_budget", "verdicts", "pareto"),
    *("best_by_cost", "parallel_coordinates"),
)
CLAUSES = (
    *("plateau", "tokens_to_loss", "factors", "main_table", "single_change_effects", "claims", "reference"),
    *("attention", "equal_arms", "without_value", "squad", "failures", "post_hoc_additions"),
)
"""Of the finding of a comparison of arms; that of a search is `best_candidate`."""
CONDITIONS = (
    *("setup", "vocabulary", "squad", "evaluation_set", "objectives_by_arm", "differences_from_paper"),
    *("failures", "constant_predictions", "equal_arms", "without_value", "searched_settings", "truncation"),
    *("contamination", "post_hoc_additions", "tuning_trials"),
)
SEARCH_FINDING = "best_candidate"
"""The finding of a search, in place of the clauses."""


@cache
def sections() -> dict[str, Section]:
    """Return the questions by the names of their files."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: import_module(f"{__name__}.{name}").SECTION for name in names if name != SEARCH_FINDING}


def in_order(order: Sequence[str], results: Results) -> Iterator[Section]:
    """Yield every question about an experiment, those that are named first; without trials those about none."""
    every = sections()
    for name in (*order, *(name for name in every if name not in order)):
        if results.experiment.has_trials or not every[name].of_trials:
            yield every[name]
