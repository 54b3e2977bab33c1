"""The finding: one sentence, computed from the results and never typed."""

from collections.abc import Iterator

from reports.numbers import difference_text
from reports.results import Results
from reports.search_finding import search_finding
from reports.statistics.comparisons import Verdict
from reports.statistics.effects import Difference
from reports.statistics.metrics import Metric
from reports.tables.attention import attention_clause
from reports.tables.candidates import SEARCH
from reports.tables.isolated import IsolatedPair
from runners.designs.arm import BASELINE
from runners.kept.records import Standing

PAIRS_NAMED = 2  # as many effects of one change alone as a sentence can name
OPEN = (Standing.WAITING, Standing.RUNNING)


def finding_of(results: Results, pairs: tuple[IsolatedPair, ...]) -> str:
    """Return what was learned: the best arm on each headline metric, and what a change alone does."""
    if results.setting.design.kind == SEARCH:
        return search_finding(results)
    total = max(len(results.snapshot.histories), len(results.arms) * results.seeds_in_all)
    ended = sum(history.standing not in OPEN for history in results.snapshot.histories)
    measured = [metric for metric in results.headlines if _means(results, metric)]
    if not measured:
        return f"No result yet: {ended} of {total} trials have ended, and none was measured at the end of its budget."
    clauses = [_clause(results, metric) for metric in measured]
    clauses += _alone(results, pairs, measured)
    clauses += [clause] if (clause := attention_clause(results)) else []
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
    """Return what is known of the arm with the best mean; helped or hurt is corrected for all arms."""
    difference, compared = results.difference(best, BASELINE, metric), results.comparison(best, metric)
    shown = f"Δ {_told(difference, results.decimals(metric))}"
    if difference.low is None:
        return f"no difference can be told from {_seeds(difference)} (best mean: {best}, {shown})"
    if compared.verdict is Verdict.HELPS:
        return f"{best} is best and better than the baseline ({shown})"
    if compared.verdict is Verdict.HURTS:
        return f"no arm reaches the baseline (nearest: {best}, {shown})"
    if compared.verdict is Verdict.NO_DIFFERENCE:
        return f"the best arm, {best}, differs from the baseline by no more than {compared.margin:g} ({shown})"
    others = _told_better(results, metric, rivals)
    alone = f", though {', '.join(others)} can" if others else ""
    corrected = " after Holm's correction" if difference.told_apart else ""
    return f"the best arm, {best}, cannot be told from the baseline{corrected} ({shown}){alone}"


def _told_better(results: Results, metric: Metric, rivals: dict[str, float]) -> list[str]:
    return [arm for arm in rivals if results.comparison(arm, metric).verdict is Verdict.HELPS]


def _telling(results: Results, pairs: tuple[IsolatedPair, ...], metric: Metric) -> Iterator[IsolatedPair]:
    """Yield for each path and reference the pair whose arm has the best mean."""
    means = _means(results, metric)
    for path, reference in dict.fromkeys((pair.path, pair.reference) for pair in pairs):
        mine = [pair for pair in pairs if (pair.path, pair.reference) == (path, reference) and pair.arm in means]
        if mine and reference in means:
            best = _best({pair.arm: means[pair.arm] for pair in mine}, metric)
            yield next(pair for pair in mine if pair.arm == best)


def _alone(results: Results, pairs: tuple[IsolatedPair, ...], metrics: list[Metric]) -> Iterator[str]:
    """Yield what one change alone does: the telling pairs where they are few, else which of all are told apart."""
    telling = list(_telling(results, pairs, metrics[0]))
    if len(telling) <= PAIRS_NAMED:
        for pair in telling:
            yield f"the effect of {_named(pair)}, uncorrected: {_isolated(results, pair, metrics)}"
        return
    apart = {
        pair: [m for m in metrics if results.difference(pair.arm, pair.reference, m).told_apart] for pair in pairs
    }
    found = [f"{_named(pair)}: {_isolated(results, pair, on)}" for pair, on in apart.items() if on]
    shown = f" ({', '.join(found)})" if 0 < len(found) <= PAIRS_NAMED else ""
    yield f"of {len(pairs)} effects of one change alone, uncorrected, {len(found) or 'none'} told apart{shown}"


def _named(pair: IsolatedPair) -> str:
    return f"{pair.path} alone, {pair.arm} against {pair.reference}"


def _isolated(results: Results, pair: IsolatedPair, metrics: list[Metric]) -> str:
    parts = []
    for metric in metrics:
        difference = results.difference(pair.arm, pair.reference, metric)
        parts.append(
            f"{metric.title} {_judgement(difference, metric)} ({_told(difference, results.decimals(metric))})"
        )
    return ", ".join(parts)


def _judgement(difference: Difference, metric: Metric) -> str:
    if difference.delta is None or not difference.told_apart:
        return "not told apart"
    return "better" if metric.better(difference.delta, 0.0) else "worse"


def _told(difference: Difference, decimals: int) -> str:
    return f"{difference_text(difference, decimals)}, n = {difference.pairs}"


def _seeds(difference: Difference) -> str:
    return "one seed" if difference.pairs == 1 else f"{difference.pairs} shared seeds"
