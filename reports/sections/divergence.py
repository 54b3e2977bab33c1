"""Diverged seeds: their share by arm, and each difference with them left out and with the worst value in their place.

Leaving out a diverged seed biases the result in favour of its arm (Dodge et al. 2020, arXiv 2002.06305).
"""

from collections.abc import Iterator

from reports.columns import DELTA, METRIC, delta
from reports.grid import shown, words
from reports.number_format import fixed
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, compared
from steeplechase.analysis.difference import Difference, SeedValues
from steeplechase.analysis.effects import difference_of
from steeplechase.analysis.proportions import wilson
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.ledger.records import TrialStatus, curve_of

NOTE = "Converged only: diverged seeds are left out. Diverged as worst: the worst value of any arm in their place."


def _rows(results: Results) -> Iterator[Row]:
    """Yield the arms with a diverged seed, or all arms if the baseline has one, on the headline metrics."""
    counts = {arm.name: results.diverged(arm.name) for arm in results.arms}
    for arm, (diverged, trials) in counts.items():
        if not diverged and not (trials and counts.get(BASELINE, (0, 0))[0]):
            continue
        low, high = wilson(diverged, trials)
        for metric in results.headlines:
            yield {
                "arm": arm,
                "metric": metric.name,
                "diverged": diverged,
                "trials": trials,
                "rate": diverged / trials,
                "rate_low": low,
                "rate_high": high,
                **compared(results.effect(arm, metric).difference),
                **compared(_with_worst(results, arm, metric), "_all"),
            }


def _with_worst(results: Results, arm: str, metric: Metric) -> Difference:
    if arm == BASELINE:
        return Difference()
    values, baseline = (_filled(results, name, metric) for name in (arm, BASELINE))
    return difference_of(values, baseline, results.confidence(arm), results.test)


def _filled(results: Results, arm: str, metric: Metric) -> SeedValues:
    """Return the values with the worst value of any arm for diverged seeds; for the loss, the worst on any curve."""
    values = [value for by_metric in results.values.values() for value in by_metric.get(metric.name, {}).values()]
    if metric.name == HELD_OUT_LOSS:
        records = (record for history in results.snapshot.histories for record in history.records)
        values += [loss for record in records for loss in curve_of(record).values()]
    own_values = results.values.get(arm, {}).get(metric.name, {})
    if not values:
        return own_values
    worst = max(values) if metric.lower_is_better else min(values)
    filled = {h.trial.seed: worst for h in results.trials.get(arm, ()) if h.status is TrialStatus.DIVERGED}
    return {**filled, **own_values}


def _count(row: Row) -> str:
    interval = " to ".join(fixed(100 * float(str(row[name])), 0) for name in ("rate_low", "rate_high"))
    return f"{row['diverged']} of {row['trials']} ({interval}%)"


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    diverged = Table.of("divergence", _rows(results))
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    columns = [
        *(words("arm"), METRIC, words("diverged [95%]", _count)),
        delta(decimals, "converged only", DELTA),
        delta(decimals, "diverged as worst", DELTA, "_all"),
    ]
    title = "Diverged seeds: left out, and as the worst value"
    return Content((diverged,), shown("divergence", title, columns, diverged.rows, [NOTE]))


SECTION = Section("divergence", _content)
