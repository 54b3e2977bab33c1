"""A search's finding: how many candidates came through, which is best, and how it stands beside the baseline."""

from reports.numbers import difference_text, short
from reports.results import Results
from reports.statistics.metrics import Metric
from reports.tables.audit import audit_sentence
from reports.tables.candidates import against_baseline, candidates_table
from reports.tables.table import Row
from runners.asked.metrics import HELD_OUT_LOSS
from runners.designs.arm import BASELINE
from runners.kept.records import Standing

LOSS = Metric(HELD_OUT_LOSS)


def search_finding(results: Results) -> str:
    """Return the sentence. Candidates are ranked by how far they came, then by held-out loss there."""
    ranked = [row for row in candidates_table(results).rows if row["rank"] is not None]
    asked = len(results.arms)
    if not ranked:
        return f"No result yet: none of {asked} candidates has reached a mark."
    through = sum(
        any(history.standing is Standing.FINISHED for history in results.trials[arm.name]) for arm in results.arms
    )
    best = ranked[0]
    told = f"Of {asked} candidates {through} came through; the best is {_named(best)}, {_beside(results, best)}."
    return " ".join(filter(None, [told, audit_sentence(results)]))


def _named(best: Row) -> str:
    changes = "" if best["arm"] == BASELINE else f" ({best['changes']})"
    tokens = best["tokens"]
    assert isinstance(tokens, int)
    return f"{best['arm']}{changes} at {short(tokens)} tokens"


def _beside(results: Results, best: Row) -> str:
    """Return how the best candidate differs from the baseline where both were measured."""
    arm = str(best["arm"])
    if arm == BASELINE:
        return "which no candidate has beaten"
    found = against_baseline(results, arm)
    if found is None:
        return "with no mark that the baseline has reached too"
    mark, difference = found
    shown = f"Δ {difference_text(difference, results.decimals(LOSS))}, n = {difference.pairs}"
    where = f"held-out loss at {short(mark)} tokens, the furthest that both reached"
    if difference.delta is None:
        return "with no seed that the baseline has too"
    if not difference.told_apart:
        return f"which cannot be told from the baseline by {where} ({shown})"
    return f"{'better' if difference.delta < 0 else 'worse'} than the baseline by {where} ({shown})"
