"""The crossed design behind a table: which of its runs are arms, and what is lost with those that are not."""

import json

from configuration.designs import Factorial, Fractional
from configuration.designs.crossed import Crossed, Levels, crossed
from foundation.schema import canonical_text
from reports.statistics.results import Results

KINDS: dict[str, type[Factorial] | type[Fractional]] = {"factorial": Factorial, "fractional": Fractional}


def runs_of(results: Results) -> Crossed | None:
    """Return the runs of the experiment's one factorial or fraction; None where it has none, or several.

    A run that is no arm, or not yet one, is missing. Ledgers from before arms had levels tell nothing.
    """
    document = results.snapshot.document.get("design")
    parts = document if isinstance(document, list) else [document]
    chosen = [part for part in parts if isinstance(part, dict) and part.get("kind") in KINDS and "vary" in part]
    if len(chosen) != 1 or not any(arm.levels for arm in results.arms):
        return None
    design = KINDS[str(chosen[0]["kind"])].model_validate_json(json.dumps(chosen[0]))
    whole = crossed(design, results.setting.baseline)
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
