"""The clause of a finding on one metric: which arm is best, and whether it differs from the baseline and the next."""

from collections.abc import Mapping, Sequence

from reports.number_format import interval_text_with_n, listed
from reports.statistics.comparisons import Verdict
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from steeplechase.configuration.arm import BASELINE

ARMS_NAMED = 4  # maximum number of further arms named by metric and verdict
AT_SHARED = "at the seeds that both have"


def metric_clause(results: Results, metric: Metric) -> str:
    """Return the clause on one metric: the arm with the best mean, its verdict, the further significant arms."""
    means = results.means(metric)
    rivals = {arm: mean for arm, mean in means.items() if arm != BASELINE}
    if BASELINE not in means:
        diverged, trials = results.diverged(BASELINE)
        why = "the baseline has not been measured"
        if diverged and diverged == trials:
            stopped = trials < max(results.looks.counts, default=0)
            why = "the baseline diverged" + f" in all {trials} seeds, and until_decided adds none" * stopped
        elif results.measured_values.get(BASELINE, {}).get(metric.name):
            why = "no measured seed of the baseline left the plateau of the loss"
        return f"on {metric.title} no arm can be compared: {why}"
    if not rivals:
        return f"on {metric.title} only the baseline has been measured"
    best = metric.best(rivals)
    verdicts = {arm: results.comparison(arm, metric).verdict for arm in rivals}
    all_measured, behind = len(rivals) == len(results.arms) - 1, metric.better(means[BASELINE], means[best])
    if len(rivals) > 1 and all_measured and not behind and {*verdicts.values()} == {Verdict.HELPS}:
        others, delta = [arm for arm in rivals if arm != best], _delta(results, metric, best)
        every = f"every arm is significantly better than the baseline; {best} has the best mean ({delta})"
        return f"on {metric.title} {every}{_as_good(results, metric, best, others)}"
    return (
        f"on {metric.title} {_verdict(results, metric, best, behind)}{_further_arms(results, metric, best, verdicts)}"
    )


def _further_arms(results: Results, metric: Metric, best: str, verdicts: Mapping[str, Verdict]) -> str:
    """Return the significant arms beside the one with the best mean, after the correction; empty without one."""
    texts = []
    for verdict, word in ((Verdict.HELPS, "better"), (Verdict.HURTS, "worse")):
        arms = [arm for arm in verdicts if arm != best and verdicts[arm] is verdict]
        also = "also " if verdicts[best] is verdict else ""
        texts += [f"; {_are(arms)} {also}significantly {word}"] if arms else []
        texts += [_as_good(results, metric, best, arms)] if also and verdict is Verdict.HELPS else []
    return "".join(texts)


def _as_good(results: Results, metric: Metric, best: str, others: Sequence[str]) -> str:
    """Return the further significant arms that no 95% interval of a difference tells from the best; or nothing."""
    differences = {arm: results.difference(best, arm, metric) for arm in others}
    found = [arm for arm, each in differences.items() if each.low is not None and not each.excludes_zero]
    return f"; {_are(found)} not distinguishable from {best} (without correction)" if found else ""


def _are(arms: Sequence[str]) -> str:
    return f"{listed(arms, ARMS_NAMED)} {'is' if len(arms) == 1 else 'are'}"


def _delta(results: Results, metric: Metric, arm: str) -> str:
    return f"Δ {interval_text_with_n(results.difference(arm, BASELINE, metric), results.decimals(metric))}"


def _verdict(results: Results, metric: Metric, best: str, behind: bool) -> str:
    """Return the verdict on the arm with the best mean, after the correction over all arms.

    `behind`: whether the baseline's mean is better. A paired difference is over the seeds that both arms have, so
    that its sign may not be that of the means.
    """
    difference, found = results.difference(best, BASELINE, metric), results.comparison(best, metric)
    delta, means = _delta(results, metric, best), results.means(metric)
    if difference.low is None:
        seeds = "one seed gives" if difference.n == 1 else f"{difference.n} seeds give"
        nearest = f"best mean: baseline, nearest: {best}" if behind else f"best mean: {best}"
        nearest = f"{best} has the baseline's mean" if means[BASELINE] == means[best] else nearest
        return f"{seeds} no interval ({nearest}, {delta})"
    which = "the baseline has the best mean, and the nearest arm" if behind else "the arm with the best mean"
    corrected = " after the correction" if difference.excludes_zero else ""
    of_baseline = "" if behind else " from the baseline"
    helps = f"{best} has the best mean and is significantly better than the baseline"
    hurts = f"all means are worse than the baseline's, the nearest, {best}, is significantly worse"
    if behind:
        helps = f"the baseline has the best mean, but {AT_SHARED} the nearest arm, {best}, is significantly better"
    else:
        hurts = f"{best} has the best mean, but {AT_SHARED} it is significantly worse than the baseline"
    texts = {
        Verdict.HELPS: helps,
        Verdict.HURTS: hurts,
        Verdict.NO_DIFFERENCE: f"{which}, {best}, is equivalent to the baseline within ±{found.margin or 0.0:g}",
        Verdict.UNDECIDED: f"{which}, {best}, does not differ significantly{of_baseline}{corrected}",
    }
    return f"{texts[found.verdict]} ({delta})"
