"""The finding: one sentence, computed from the results and never typed."""

from collections.abc import Iterator

from analysis.effects import Difference
from configuration.arm import BASELINE
from ledger.records import TrialStatus
from reports.crossed_finding import crossed_clauses
from reports.number_format import interval_text_with_n
from reports.search_finding import search_finding
from reports.sections.attention import attention_clause
from reports.sections.failures import failures_clause
from reports.sections.single_change_effects import IsolatedPair, isolated_pairs
from reports.statistics.comparisons import Verdict
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.reference import is_finding
from reports.statistics.results import Results

PAIRS_NAMED = 2  # as many effects of one change alone as a sentence can name
OPEN = (TrialStatus.WAITING, TrialStatus.RUNNING)


def finding_of(evidence: Evidence) -> str:
    """Return what was learned at the shared recipe, then what at every arm's own recipe where there was tuning."""
    results = evidence.results
    shared = results_finding(results, isolated_pairs(results.arms, results.experiment.baseline))
    return shared + _own_recipes_finding(evidence.own_recipes)


def results_finding(results: Results, pairs: tuple[IsolatedPair, ...]) -> str:
    """Return what was learned: a crossed design's effects, the best arm by headline metric, isolated effects."""
    if results.is_search:
        failed = failures_clause(results)
        return f"{search_finding(results)} {failed[0].upper()}{failed[1:]}." if failed else search_finding(results)
    total = max(len(results.snapshot.histories), len(results.arms) * results.seeds_in_all)
    ended = sum(history.status not in OPEN for history in results.snapshot.histories)
    measured = [metric for metric in results.headlines if _means(results, metric)]
    failed = failures_clause(results)
    if not measured:
        why = f"; {failed}" if failed else ""
        ended_how = f"{ended} of {total} trials have ended, and none was measured at the end of its budget"
        return f"No result yet: {ended_how}{why}."
    clauses = [*crossed_clauses(results, measured), *(_clause(results, metric) for metric in measured)]
    clauses += _alone(results, pairs, measured)
    clauses += filter(None, [attention_clause(results), failed])
    sentence = "; ".join(clauses) + "."
    if ended < total:
        return f"So far, with {ended} of {total} trials ended: {sentence}"
    return sentence[0].upper() + sentence[1:]


def _means(results: Results, metric: Metric) -> dict[str, float]:
    means = {arm.name: results.effect(arm.name, metric).mean for arm in results.arms}
    return {arm: mean for arm, mean in means.items() if mean is not None}


def _best(means: dict[str, float], metric: Metric) -> str:
    """Return the arm with the best mean; of equal ones the first in the table."""
    return min(means, key=lambda arm: means[arm] if metric.lower_is_better else -means[arm])


def _clause(results: Results, metric: Metric) -> str:
    means = _means(results, metric)
    rivals = {arm: mean for arm, mean in means.items() if arm != BASELINE}
    if BASELINE not in means:
        return f"on {metric.title} nothing can be compared: the baseline has not been measured"
    if not rivals:
        return f"on {metric.title} only the baseline has been measured"
    best = _best(rivals, metric)
    return f"on {metric.title} {_verdict(results, metric, best, rivals)}"


def _verdict(results: Results, metric: Metric, best: str, rivals: dict[str, float]) -> str:
    """Return the verdict on the arm with the best mean; helped or hurt is corrected for all arms."""
    difference, compared = results.difference(best, BASELINE, metric), results.comparison(best, metric)
    shown = f"Δ {interval_text_with_n(difference, results.decimals(metric))}"
    if difference.low is None:
        return f"{_seeds(difference)} no interval (best mean: {best}, {shown})"
    if not is_finding(results, metric, (best, BASELINE)):
        return f"nothing is claimed, as neither {best} nor the baseline exceeds chance significantly ({shown})"
    if compared.verdict is Verdict.UNDECIDED:
        return _undecided(results, metric, best, rivals)
    sentences = {
        Verdict.HELPS: f"{best} is best and better than the baseline ({shown})",
        Verdict.HURTS: f"no arm reaches the baseline (nearest: {best}, {shown})",
        Verdict.NO_DIFFERENCE: f"the best arm, {best}, differs from the baseline by no more than "
        f"{compared.margin or 0.0:g} ({shown})",
    }
    return sentences[compared.verdict]


def _undecided(results: Results, metric: Metric, best: str, rivals: dict[str, float]) -> str:
    difference = results.difference(best, BASELINE, metric)
    shown = f"Δ {interval_text_with_n(difference, results.decimals(metric))}"
    corrected = " after Holm's correction" if difference.told_apart else ""
    if metric.better(0.0, difference.delta or 0.0):
        return (
            f"the baseline is best, and the nearest arm, {best}, does not differ significantly{corrected} ({shown})"
        )
    others = _significantly_better(results, metric, rivals)
    alone = f", though {', '.join(others)} {'do' if len(others) > 1 else 'does'}" if others else ""
    return f"the best arm, {best}, does not differ significantly from the baseline{corrected} ({shown}){alone}"


def _significantly_better(results: Results, metric: Metric, rivals: dict[str, float]) -> list[str]:
    return [arm for arm in rivals if results.comparison(arm, metric).verdict is Verdict.HELPS]


def _best_pairs(results: Results, pairs: tuple[IsolatedPair, ...], metric: Metric) -> Iterator[IsolatedPair]:
    """Yield for each path and reference the pair whose arm has the best mean."""
    means = _means(results, metric)
    for path, reference in dict.fromkeys((pair.path, pair.reference) for pair in pairs):
        mine = [pair for pair in pairs if (pair.path, pair.reference) == (path, reference) and pair.arm in means]
        if mine and reference in means:
            best = _best({pair.arm: means[pair.arm] for pair in mine}, metric)
            yield next(pair for pair in mine if pair.arm == best)


def _alone(results: Results, pairs: tuple[IsolatedPair, ...], metrics: list[Metric]) -> Iterator[str]:
    """Yield what one change alone does: one pair per path where they are few, else how many of all exclude 0."""
    best_pairs = list(_best_pairs(results, pairs, metrics[0]))
    if len(best_pairs) <= PAIRS_NAMED:
        for pair in best_pairs:
            yield f"the effect of {_named(pair)} (no correction): {_isolated(results, pair, metrics)}"
        return
    apart = {pair: [metric for metric in metrics if _excludes_zero(results, pair, metric)] for pair in pairs}
    found = [f"{_named(pair)}: {_isolated(results, pair, on)}" for pair, on in apart.items() if on]
    shown = f" ({', '.join(found)})" if 0 < len(found) <= PAIRS_NAMED else ""
    count = f"{len(found) or 'none'} excludes 0" if len(found) < 2 else f"{len(found)} exclude 0"
    yield f"of {len(pairs)} single-change comparisons (no correction) {count}{shown}"


def _excludes_zero(results: Results, pair: IsolatedPair, metric: Metric) -> bool:
    """Whether the interval of a pair excludes 0 on a metric on which a difference of the two may be claimed."""
    apart = results.difference(pair.arm, pair.reference, metric).told_apart
    return apart and is_finding(results, metric, (pair.arm, pair.reference))


def _named(pair: IsolatedPair) -> str:
    return f"{pair.path} alone, {pair.arm} against {pair.reference}"


def _isolated(results: Results, pair: IsolatedPair, metrics: list[Metric]) -> str:
    parts = []
    for metric in metrics:
        difference = results.difference(pair.arm, pair.reference, metric)
        judgement = _judgement(difference, metric) if _claimable(results, pair, difference, metric) else "at chance"
        parts.append(f"{metric.title} {judgement} ({interval_text_with_n(difference, results.decimals(metric))})")
    return ", ".join(parts)


def _claimable(results: Results, pair: IsolatedPair, difference: Difference, metric: Metric) -> bool:
    return difference.low is None or is_finding(results, metric, (pair.arm, pair.reference))


def _judgement(difference: Difference, metric: Metric) -> str:
    if difference.low is None or difference.delta is None:
        return "without an interval"
    if not difference.told_apart:
        return "not significant"
    return "better" if metric.better(difference.delta, 0.0) else "worse"


def _seeds(difference: Difference) -> str:
    return "one seed gives" if difference.pairs == 1 else f"{difference.pairs} shared seeds give"


def _own_recipes_finding(own: Results | None) -> str:
    """Return what is found at own recipes as a sentence that follows another; empty before anything was chosen."""
    if own is None or own.snapshot.tuning is None:
        return ""
    if all(choice.point == 0 for choice in own.snapshot.tuning.choices):
        return " For every arm tuning has found nothing better than the shared recipe."
    sentence = results_finding(own, ())
    return f" With every arm at its own recipe: {sentence[0].lower()}{sentence[1:]}"
