"""The crossed design behind a table: which of its runs are arms, and what is lost with those that are not."""

from configuration.designs import Factorial, Fractional
from configuration.designs.crossed import Crossed, Levels, crossed
from foundation.schema import canonical_text
from reports.statistics.results import Results


def runs_of(results: Results) -> Crossed | None:
    """Return the runs of the experiment's one factorial or fraction; None where it has none, or several.

    A run that is no arm, or not yet one, is missing. None for ledgers in which arms have no levels.
    """
    chosen = [design for design in results.experiment.designs if isinstance(design, Factorial | Fractional)]
    if len(chosen) != 1 or not any(arm.levels for arm in results.arms):
        return None
    whole = crossed(chosen[0], results.experiment.baseline)
    if whole is None:
        return None
    return whole.without(set(whole.whole) - set(arms_by_levels(results, whole).values()))


def arms_by_levels(results: Results, runs: Crossed) -> dict[str, Levels]:
    """Return the run that each arm is, for the arms that are runs of the design."""
    known = [[canonical_text(value) for value in of_factor] for of_factor in runs.values]
    found: dict[str, Levels] = {}
    for arm in results.arms:
        if set(runs.factors) <= arm.levels.keys():
            texts = [canonical_text(arm.levels[path]) for path in runs.factors]
            if all(text in of for text, of in zip(texts, known, strict=True)):
                found[arm.name] = tuple(of.index(text) for text, of in zip(texts, known, strict=True))
    return found


def lost_runs(results: Results) -> str:
    """Return what the design has lost with the runs that are missing; empty where it has lost none."""
    runs = runs_of(results) if results.snapshot.impossible else None
    if runs is None or not runs.missing:
        return ""
    return f"The {'fraction' if runs.fraction else 'factorial'}: {runs.warning()}."
