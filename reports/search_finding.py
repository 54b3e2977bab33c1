"""A search's finding: how many candidates finished, which is best, and how it differs from the baseline."""

from collections.abc import Sequence

from configuration.arm import BASELINE
from configuration.metrics import HELD_OUT_LOSS
from ledger.records import TrialStatus
from reports.number_format import difference_text, fixed, short
from reports.sections.audit import audit_sentence, better_than_survivors
from reports.sections.candidates import against_baseline, between, candidates_table
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row

LOSS, LOSS_DECIMALS = Metric(HELD_OUT_LOSS), 4
WORDS = ("diverged", "failed")


def search_finding(results: Results) -> str:
    """Return the sentence. Candidates are ranked by how far they came, then by their paired difference there."""
    rows = candidates_table(results).rows
    ranked = [row for row in rows if row["rank"] is not None]
    candidates = [arm.name for arm in results.arms if arm.name != BASELINE]
    if not ranked:
        return _nothing(results, len(candidates))
    through = sum(
        any(history.status is TrialStatus.FINISHED for history in results.trials[arm]) for arm in candidates
    )
    best = ranked[0]
    shown = f"{_named(best)}, {_to_baseline(results, best)}{_not_distinguishable(results, ranked)}"
    found = f"Of {len(candidates)} candidates {through} came through; the best is {shown}."
    sentences = (found, _audited(results), audit_sentence(results))
    return " ".join(filter(None, sentences))


def _nothing(results: Results, candidates: int) -> str:
    """Return why nothing has a result: no mark has been reached yet, or all arms ended without one."""
    arms, bad = len(results.arms), (TrialStatus.DIVERGED, TrialStatus.FAILED)
    statuses = [{history.status for history in results.trials[arm.name]} for arm in results.arms]
    if arms == 0 or not all(found and found <= {*bad} for found in statuses):
        return f"No result yet: none of {candidates} candidates has reached a mark."
    counts = {word: sum(found == {status} for found in statuses) for word, status in zip(WORDS, bad, strict=True)}
    if counts["diverged"] == arms:
        return f"No result: the baseline and all {candidates} candidates diverged."
    parts = [f"{count} {word}" for word, count in counts.items() if count]
    mixed = arms - sum(counts.values())
    parts += [f"{mixed} diverged at some seeds and failed at others"] if mixed else []
    return f"No result: of {candidates} candidates and the baseline {', '.join(parts)}; none has reached a mark."


def _named(best: Row) -> str:
    changes = "" if best["arm"] == BASELINE else f" ({best['changes']})"
    tokens = best["tokens"]
    assert isinstance(tokens, int)
    return f"{best['arm']}{changes} at {short(tokens)} tokens"


def _to_baseline(results: Results, best: Row) -> str:
    """Return how the best candidate differs from the baseline where both were measured."""
    arm = str(best["arm"])
    if arm == BASELINE:
        return "which no candidate has beaten"
    found = against_baseline(results, arm)
    if found is None:
        return "with no mark that the baseline has reached at the same seed"
    mark, difference = found
    shown = f"Δ {difference_text(difference, results.decimals(LOSS))}, n = {difference.pairs}"
    where = f"held-out loss at {short(mark)} tokens, the furthest that both reached"
    if difference.delta is None or not difference.told_apart:
        return f"which is not distinguishable from the baseline by {where} ({shown})"
    return f"{'better' if difference.delta < 0 else 'worse'} than the baseline by {where} ({shown})"


def _not_distinguishable(results: Results, ranked: Sequence[Row]) -> str:
    """Return how many of those who came as far are not distinguishable from the best, at the seeds they share."""
    best, *others = (row for row in ranked if row["tokens"] == ranked[0]["tokens"])
    others = [row for row in others if row["arm"] != BASELINE]
    tokens, arm = best["tokens"], str(best["arm"])
    assert isinstance(tokens, int)
    differences = {str(row["arm"]): between(results, arm, str(row["arm"]), tokens) for row in others}
    level = [name for name, difference in differences.items() if not difference.told_apart]
    if not level:
        return ""
    found = differences[level[0]]
    shown = f"{level[0]}, Δ {difference_text(found, results.decimals(LOSS))}, n = {found.pairs}"
    if len(others) == 1:
        return f", and not distinguishable from the only other candidate that came as far ({shown})"
    many = f"{len(level)} of the {len(others)}" if len(level) < len(others) else f"any of the {len(others)}"
    return f", and not distinguishable from {many} other candidates that came as far (next: {shown})"


def _audited(results: Results) -> str:
    """Return the audited trials that ended better than every survivor, empty where none did."""
    better = better_than_survivors(results)
    if not better:
        return ""
    decimals = max(results.decimals(LOSS), LOSS_DECIMALS)
    shown = [
        f"{name}, stopped at hurdle {one.stopped_at.level + 1}, at {fixed(one.measured, decimals)}"
        for name, one in better
        if one.stopped_at is not None
    ]
    many = "trials" if len(shown) > 1 else "trial"
    return f"Audited {many} that ended better than every survivor: {'; '.join(shown)} nats."
