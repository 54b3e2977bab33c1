"""The finding: one sentence, computed from the results."""

from collections.abc import Iterator

from reports.claims_finding import claims_clauses
from reports.crossed_finding import crossed_clauses
from reports.number_format import interval_text_with_n
from reports.pretraining_sentence import pretraining_sentence
from reports.search_finding import search_finding
from reports.sections.attention import attention_clause
from reports.sections.equal_arms import equal_arms_clause
from reports.sections.failures import failures_clause
from reports.sections.squad import absent_answers_clause
from reports.sections.without_value import without_value_clause
from reports.statistics.comparisons import Verdict
from reports.statistics.evidence import Evidence
from reports.statistics.isolated_pairs import IsolatedPair, isolated_pairs
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.ledger.records import NOT_ENDED

PAIRS_NAMED = 2  # maximum number of single-change effects named in a sentence
ARMS_NAMED = 4  # maximum number of further arms named by metric and verdict
AT_SHARED = "at the seeds that both have"


def finding_of(evidence: Evidence) -> str:
    """Return the finding at the shared recipe, what pretraining is worth, and own recipes if tuned."""
    results = evidence.results
    pairs = () if results.is_search else isolated_pairs(results.arms, results.experiment.baseline)
    shared = results_finding(results, pairs)
    return shared + pretraining_sentence(results) + _scope(results) + _own_recipes_finding(evidence.own_recipes)


def results_finding(results: Results, pairs: tuple[IsolatedPair, ...]) -> str:
    """Return the finding: a crossed design's effects, the best arm by headline metric, single-change effects."""
    if results.is_search:
        failed = failures_clause(results)
        return f"{search_finding(results)} {failed[0].upper()}{failed[1:]}." if failed else search_finding(results)
    total = max(len(results.snapshot.histories), len(results.arms) * results.seeds_in_all)
    ended = sum(history.status not in NOT_ENDED for history in results.snapshot.histories)
    measured = measured_headlines(results)
    failed = failures_clause(results)
    if not measured and not results.below_reference:
        why = f"; {failed}" if failed else ""
        ended_how = f"{ended} of {total} trials have ended, and none was measured at the end of its budget"
        return f"No result yet: {ended_how}{why}."
    clauses = [*crossed_clauses(results, measured), *(metric_clause(results, metric) for metric in measured)]
    clauses += _single_changes(results, pairs, measured)
    clauses += claims_clauses(results)
    clauses += filter(None, [_below_clause(results), attention_clause(results), *empty_comparisons(results), failed])
    sentence = "; ".join(clauses) + "."
    if ended < total:
        return f"So far, with {ended} of {total} trials ended: {sentence}"
    return sentence[0].upper() + sentence[1:]


def measured_headlines(results: Results) -> list[Metric]:
    """Return the headline metrics that at least one arm has a value on."""
    return [metric for metric in results.headlines if _means(results, metric)]


def empty_comparisons(results: Results) -> tuple[str, ...]:
    """Return what makes a comparison empty: equal arms, metrics without a value, answers outside their contexts."""
    snapshot = results.snapshot
    return equal_arms_clause(results), without_value_clause(snapshot), absent_answers_clause(snapshot.shared)


def _scope(results: Results) -> str:
    """Return what the seeds allow to be claimed where nothing is pretrained; empty with pretraining."""
    if results.experiment.pretrains:
        return ""
    holds = "what differs, differs for these checkpoints, not for others that are pretrained in the same way"
    return f" n counts {results.replicates}: {holds}."


def _below_clause(results: Results) -> str:
    """Return the tasks on which no difference is claimed; empty without one."""
    below = results.below_reference
    if not below:
        return ""
    reason = "because the mean over all arms does not exceed every reference"
    in_score = "" if len(results.tasks) == 1 else f" (not in the score: {len(below)} of {len(results.tasks)} tasks)"
    return f"on {', '.join(below)} no difference is claimed, {reason}{in_score}"


def _means(results: Results, metric: Metric) -> dict[str, float]:
    means = {arm.name: results.effect(arm.name, metric).mean for arm in results.arms}
    return {arm: mean for arm, mean in means.items() if mean is not None}


def _best(means: dict[str, float], metric: Metric) -> str:
    """Return the arm with the best mean; the first in the table if several are equal."""
    return min(means, key=lambda arm: means[arm] if metric.lower_is_better else -means[arm])


def metric_clause(results: Results, metric: Metric) -> str:
    """Return the clause on one metric: the arm with the best mean, its verdict, the further significant arms."""
    means = _means(results, metric)
    rivals = {arm: mean for arm, mean in means.items() if arm != BASELINE}
    if BASELINE not in means:
        return f"on {metric.title} no arm can be compared: the baseline has not been measured"
    if not rivals:
        return f"on {metric.title} only the baseline has been measured"
    best = _best(rivals, metric)
    return f"on {metric.title} {_verdict(results, metric, best)}{_further_arms(results, metric, best, rivals)}"


def _further_arms(results: Results, metric: Metric, best: str, rivals: dict[str, float]) -> str:
    """Return the significant arms beside the one with the best mean, after the correction; empty without one."""
    verdicts = {arm: results.comparison(arm, metric).verdict for arm in rivals}
    texts = []
    for verdict, word in ((Verdict.HELPS, "better"), (Verdict.HURTS, "worse")):
        arms = [arm for arm in rivals if arm != best and verdicts[arm] is verdict]
        also = "also " if verdicts[best] is verdict else ""
        more = f" and {len(arms) - ARMS_NAMED} more" if len(arms) > ARMS_NAMED else ""
        texts += [f", {also}significantly {word}: {', '.join(arms[:ARMS_NAMED])}{more}"] if arms else []
    return "".join(texts)


def _verdict(results: Results, metric: Metric, best: str) -> str:
    """Return the verdict on the arm with the best mean, after the correction over all arms.

    A paired difference is over the seeds that both arms have, so that its sign may not be that of the means.
    """
    difference, compared = results.difference(best, BASELINE, metric), results.comparison(best, metric)
    interval = f"Δ {interval_text_with_n(difference, results.decimals(metric))}"
    behind = _behind(results, metric, best)
    if difference.low is None:
        nearest = f"best mean: baseline, nearest: {best}" if behind else f"best mean: {best}"
        return f"{_seeds(difference)} no interval ({nearest}, {interval})"
    if compared.verdict is Verdict.UNDECIDED:
        return _undecided(results, metric, best)
    helps = f"{best} has the best mean and is significantly better than the baseline ({interval})"
    hurts = f"all means are worse than the baseline's, the nearest, {best}, is significantly worse ({interval})"
    if behind:
        nearest = f"the nearest arm, {best}, is significantly better ({interval})"
        helps = f"the baseline has the best mean, but {AT_SHARED} {nearest}"
    else:
        hurts = f"{best} has the best mean, but {AT_SHARED} it is significantly worse than the baseline ({interval})"
    which = "the baseline has the best mean, and the nearest arm" if behind else "the arm with the best mean"
    equivalent = f"{which}, {best}, is equivalent to the baseline within ±{compared.margin or 0.0:g} ({interval})"
    return {Verdict.HELPS: helps, Verdict.HURTS: hurts, Verdict.NO_DIFFERENCE: equivalent}[compared.verdict]


def _behind(results: Results, metric: Metric, best: str) -> bool:
    """Whether the mean of the best arm is worse than the baseline's, each over all of its seeds."""
    means = _means(results, metric)
    return metric.better(means[BASELINE], means[best])


def _undecided(results: Results, metric: Metric, best: str) -> str:
    difference = results.difference(best, BASELINE, metric)
    interval = f"Δ {interval_text_with_n(difference, results.decimals(metric))}"
    corrected = " after the correction" if difference.excludes_zero else ""
    if _behind(results, metric, best):
        return (
            f"the baseline has the best mean, and the nearest arm, {best}, does not differ significantly{corrected} "
            f"({interval})"
        )
    return (
        f"the arm with the best mean, {best}, does not differ significantly from the baseline{corrected} ({interval})"
    )


def _best_pairs(results: Results, pairs: tuple[IsolatedPair, ...], metric: Metric) -> Iterator[IsolatedPair]:
    """Yield for each path and reference the pair with the best arm by mean."""
    means = _means(results, metric)
    for path, reference in dict.fromkeys((pair.path, pair.reference) for pair in pairs):
        same_path = [pair for pair in pairs if (pair.path, pair.reference) == (path, reference) and pair.arm in means]
        if same_path and reference in means:
            best = _best({pair.arm: means[pair.arm] for pair in same_path}, metric)
            yield next(pair for pair in same_path if pair.arm == best)


def _single_changes(results: Results, pairs: tuple[IsolatedPair, ...], metrics: list[Metric]) -> Iterator[str]:
    """Yield single-change effects: one pair per path if few, else the number of pairs with a significant effect."""
    best_pairs = list(_best_pairs(results, pairs, metrics[0])) if metrics else []
    if len(best_pairs) <= PAIRS_NAMED:
        for pair in best_pairs:
            yield f"the effect of {_named(pair)} (without correction): {_isolated(results, pair, metrics)}"
        return
    significant_metrics = {
        pair: [metric for metric in metrics if _excludes_zero(results, pair, metric)] for pair in pairs
    }
    significant_pairs = [
        f"{_named(pair)}: {_isolated(results, pair, on)}" for pair, on in significant_metrics.items() if on
    ]
    named = f" ({', '.join(significant_pairs)})" if 0 < len(significant_pairs) <= PAIRS_NAMED else ""
    count = f"{len(significant_pairs) or 'none'} {'are' if len(significant_pairs) > 1 else 'is'} significant"
    yield f"of {len(pairs)} single-change comparisons (without correction) {count}{named}"


def _excludes_zero(results: Results, pair: IsolatedPair, metric: Metric) -> bool:
    """Whether a pair's interval excludes 0 on a metric."""
    return results.difference(pair.arm, pair.reference, metric).excludes_zero


def _named(pair: IsolatedPair) -> str:
    return f"{pair.path} alone, {pair.arm} against {pair.reference}"


def _isolated(results: Results, pair: IsolatedPair, metrics: list[Metric]) -> str:
    parts = []
    for metric in metrics:
        difference = results.difference(pair.arm, pair.reference, metric)
        direction = _direction(difference, metric)
        parts.append(f"{metric.title} {direction} ({interval_text_with_n(difference, results.decimals(metric))})")
    return ", ".join(parts)


def _direction(difference: Difference, metric: Metric) -> str:
    if difference.low is None or difference.delta is None:
        return "without an interval"
    if not difference.excludes_zero:
        return "not significant"
    return "better" if metric.better(difference.delta, 0.0) else "worse"


def _seeds(difference: Difference) -> str:
    return "one seed gives" if difference.n == 1 else f"{difference.n} seeds give"


def _own_recipes_finding(own: Results | None) -> str:
    """Return the finding at own recipes as a second sentence; empty before the selection."""
    if own is None or own.snapshot.tuning is None:
        return ""
    if all(choice.point == 0 for choice in own.snapshot.tuning.choices):
        return " For every arm tuning selected the shared recipe."
    sentence = results_finding(own, ())
    return f" With every arm at its own recipe: {sentence[0].lower()}{sentence[1:]}"
