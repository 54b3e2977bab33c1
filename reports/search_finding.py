"""Finding of a search: the number of finished candidates, the best one, and its difference from the baseline."""

from collections.abc import Sequence

from configuration.arm import BASELINE
from configuration.metrics import HELD_OUT_LOSS
from ledger.records import TrialStatus
from reports.number_format import counted, fixed, interval_text_with_n, short
from reports.sections.audit import audit_sentence, better_than_survivors
from reports.sections.candidates import against_baseline, between, candidates_table
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row

LOSS, LOSS_DECIMALS = Metric(HELD_OUT_LOSS), 4
WORDS = ("diverged", "failed")


def search_finding(results: Results) -> str:
    """Return the finding. Candidates are ranked by the last rung reached, then by their paired difference there."""
    rows = candidates_table(results).rows
    ranked = [row for row in rows if row["rank"] is not None]
    candidates = [arm.name for arm in results.arms if arm.name != BASELINE]
    if not ranked:
        return _no_result(results, len(candidates))
    finished = sum(
        any(history.status is TrialStatus.FINISHED for history in results.trials[arm]) for arm in candidates
    )
    best = ranked[0]
    best_text = f"{_named(best)}, {_to_baseline(results, ranked)}{_not_distinguishable(results, ranked)}"
    result = f"Of {counted(len(candidates), 'candidate')} {finished} passed every hurdle; the best is {best_text}."
    sentences = (result, _audited(results), audit_sentence(results))
    return " ".join(filter(None, sentences))


def _no_result(results: Results, candidates: int) -> str:
    """Return why no arm has a result: no rung has been reached yet, or all arms ended before one."""
    arms, without_result = len(results.arms), (TrialStatus.DIVERGED, TrialStatus.FAILED)
    statuses = [{history.status for history in results.trials[arm.name]} for arm in results.arms]
    if arms == 0 or not all(arm_statuses and arm_statuses <= {*without_result} for arm_statuses in statuses):
        return f"No result yet: none of {counted(candidates, 'candidate')} has reached a rung."
    counts = {
        word: sum(arm_statuses == {status} for arm_statuses in statuses)
        for word, status in zip(WORDS, without_result, strict=True)
    }
    if counts["diverged"] == arms:
        all_candidates = "the candidate" if candidates == 1 else f"all {candidates} candidates"
        return f"No result: the baseline and {all_candidates} diverged."
    parts = [f"{count} {word}" for word, count in counts.items() if count]
    mixed_ends = arms - sum(counts.values())
    parts += [f"{mixed_ends} diverged at some seeds and failed at others"] if mixed_ends else []
    of_all = f"of {counted(candidates, 'candidate')} and the baseline"
    return f"No result: {of_all} {', '.join(parts)}; none has reached a rung."


def _named(best: Row) -> str:
    changes = "" if best["arm"] == BASELINE else f" ({best['changes']})"
    tokens = best["tokens"]
    assert isinstance(tokens, int)
    return f"{best['arm']}{changes} at {short(tokens)} tokens"


def _to_baseline(results: Results, ranked: Sequence[Row]) -> str:
    """Return the difference of the best candidate to the baseline at the last rung of both."""
    arm = str(ranked[0]["arm"])
    if arm == BASELINE:
        return "and no candidate is ranked above it"
    comparison = against_baseline(results, arm)
    if comparison is None:
        return "which shares no rung with the baseline at the same seed"
    mark, difference = comparison
    interval = f"Δ {interval_text_with_n(difference, results.decimals(LOSS))}"
    where = f"held-out loss at {short(mark)} tokens, the last rung of both"
    if difference.low is None:
        return f"whose difference from the baseline in {where}, has no interval ({interval})"
    if difference.delta is None or not difference.excludes_zero:
        return f"which does not differ significantly from the baseline in {where} ({interval})"
    word = "better" if difference.delta < 0 else "worse"
    return f"significantly {word} than the baseline{_uncorrected(ranked)} in {where} ({interval})"


def _uncorrected(ranked: Sequence[Row]) -> str:
    """Return that the test of the best candidate is not corrected for its choice; empty where it is the only one."""
    chosen_from = sum(row["arm"] != BASELINE for row in ranked)
    return f" (without correction for the choice of the best of {chosen_from})" if chosen_from > 1 else ""


def _not_distinguishable(results: Results, ranked: Sequence[Row]) -> str:
    """Return the number of candidates at the same rung that no interval of a difference tells from the best one."""
    best, *others = (row for row in ranked if row["tokens"] == ranked[0]["tokens"])
    others = [row for row in others if row["arm"] != BASELINE]
    tokens, arm = best["tokens"], str(best["arm"])
    assert isinstance(tokens, int)
    differences = {str(row["arm"]): between(results, arm, str(row["arm"]), tokens) for row in others}
    not_different = [name for name, difference in differences.items() if not difference.excludes_zero]
    if not not_different:
        return ""
    nearest_difference = differences[not_different[0]]
    nearest = f"{not_different[0]}, Δ {interval_text_with_n(nearest_difference, results.decimals(LOSS))}"
    if len(others) == 1:
        return f", and not distinguishable from the only other candidate at that rung ({nearest})"
    count = (
        f"{len(not_different)} of the {len(others)}"
        if len(not_different) < len(others)
        else f"any of the {len(others)}"
    )
    return f", and not distinguishable from {count} other candidates at that rung (next: {nearest})"


def _audited(results: Results) -> str:
    """Return the audited trials with a lower final loss than every survivor; empty without one."""
    better = better_than_survivors(results)
    if not better:
        return ""
    decimals = max(results.decimals(LOSS), LOSS_DECIMALS)
    texts = [
        f"{name}, stopped at hurdle {ending.stopped_at.level + 1}, at {fixed(ending.measured, decimals)}"
        for name, ending in better
        if ending.stopped_at is not None
    ]
    trials = "trials" if len(texts) > 1 else "trial"
    return f"Audited {trials} that ended better than every survivor: {'; '.join(texts)} nats."
