"""Growth of a search: whether its ledger may go on with more candidates or with finalists, and why not."""

import json

from runners.scheduling.decisions import AUDIT
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.designs import Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.phase_plans import FINALISTS, FinalPlan


def refused_extension(rows: LedgerRows, experiment: Experiment, known: JsonValue) -> str | None:
    """Return None if a search differs by more candidates or by finalists alone, and would have decided as it has.

    Else why it would have decided otherwise; empty where other values differ. What its finalists are is decided once.
    """
    search, final = experiment.search, FinalPlan.of(rows.fact(FINALISTS))
    if search is None or _without_extensions(known) != _without_extensions(experiment.identity()):
        return ""
    before = _candidates_in(known)
    if final is not None and final.declared:
        return f"design.finalists: the final comparison of {', '.join(final.finalists)} is made, once"
    other = None if before == search.max_candidates else _other_decisions(rows, experiment, before)
    if other is None and final is not None:
        return f"design.finalists: without them the best of {before} candidates was trained to the end, once"
    return other


def _other_decisions(rows: LedgerRows, experiment: Experiment, before: int) -> str | None:
    """Return why another number of candidates would have led to other decisions; None if it would not."""
    search = experiment.search
    assert search is not None
    if before > search.max_candidates:
        return f"design.max_candidates: less than the {before} that were declared"
    if rows.fact(AUDIT) is not None:
        return f"pretraining.audit: its trials were drawn among those of {before} candidates"
    if search.policy is None:
        return _other_cohort(rows, experiment, before)
    from runners.replay.recorded_decisions import reproduce  # which imports what makes policies

    try:
        reproduce(experiment, rows)
    except ConflictError:
        return f"design.policy: under more candidates than {before} it decides otherwise"
    return None


def _other_cohort(rows: LedgerRows, experiment: Experiment, before: int) -> str | None:
    """Return which cohort that has entered would have more proposals under more candidates; None if none would."""
    search, arms = experiment.search, [arm for arm in rows.arms() if arm.final_of is None]
    assert search is not None
    names = {arm.name for arm in arms}
    repeats = [
        trial.cohort for trial in rows.trials() if trial.cohort is not None and trial.arm in names - {BASELINE}
    ]
    entered = [*(arm.cohort for arm in arms), *repeats]
    for cohort in sorted({*entered}):
        proposed = sum(each < cohort for each in entered)
        size = experiment.pretraining.hurdle.cohort_size(cohort, search.cohort)
        had, wanted = min(before - proposed, size), min(search.max_candidates - proposed, size)
        if had != wanted:
            return f"design.max_candidates: cohort {cohort} had {had} of the {wanted} candidates that it would have"
    return None


def searches_in(identity: JsonValue) -> list[dict[str, JsonValue]]:
    """Return the search in an identity, without its number of candidates."""
    design = identity.get("design") if isinstance(identity, dict) else None
    designs = design if isinstance(design, list) else [design]
    return [each for each in designs if isinstance(each, dict) and each.get("kind") == "search"]


def _candidates_in(identity: JsonValue) -> int:
    """Return the largest number of candidates of the search in an identity."""
    default = Search.model_fields["max_candidates"].default
    (number,) = (each.get("max_candidates", default) for each in searches_in(identity))
    assert isinstance(number, int)
    return number


def _without_extensions(identity: JsonValue) -> str:
    """Return an identity as text, without the number of candidates of its search and what follows them."""
    copy = json.loads(canonical_text(identity))
    for search in searches_in(copy):
        for name in ("max_candidates", "finalists", "ablate_winner"):
            search.pop(name, None)
    return canonical_text(copy)
