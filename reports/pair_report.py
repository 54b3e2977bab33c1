"""The report of differences between any two arms, looked up after a run.

Holm's correction is over every pair of a metric, whichever of them are shown: which ones to look at is chosen after
the values are known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

from reports.columns import DELTA, interval_cell
from reports.document import Report
from reports.final_comparison import compared_results
from reports.grid import Cell, Column, Grid, shown, words
from reports.made_with import made_with_of
from reports.number_format import counted, p_text
from reports.report import conditions_of
from reports.sanitise import printable
from reports.sections.setup import scale_of
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.statistics.trial_values import trial_values
from reports.table import Row, Table, compared
from steeplechase.analysis.difference import ALPHA, Difference
from steeplechase.analysis.paired import holm
from steeplechase.foundation.errors import ConfigurationError, DataError, not_one_of
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot

RESULTS = "results"
CONDITIONS = ("Seeds", "Sampled", "Diverged")
"""The conditions that differences depend on; the whole report has all."""
COLUMNS = ("arm", "reference", "metric", "n", "delta", "low", "high", "p", "p_adjusted", "family")
NOTE = "A direction that is declared before a run is a claim; reports test it."


@dataclass(frozen=True)
class ComparedPair:
    """An arm minus a reference on one metric."""

    arm: str
    reference: str
    metric: Metric
    difference: Difference
    """By the test that decides verdicts."""
    p: float | None
    """Two-sided, divided by the share of α at the arms' look; None with too few seeds."""
    p_adjusted: float | None
    family: int
    """Number of tests that the correction is over."""

    @property
    def significant(self) -> bool:
        """Whether the arms differ after the correction."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA


def compared_pairs(results: Results, arms: Sequence[str], metrics: Sequence[Metric]) -> tuple[ComparedPair, ...]:
    """Return every pair of the named arms by metric, the earlier minus the later; a single arm minus each other one.

    At least one arm and one metric are named, all of them in the results.
    """
    every = [arm.name for arm in results.arms]
    shown = [*combinations(arms, 2)] if len(arms) > 1 else [(arms[0], arm) for arm in every if arm != arms[0]]
    return tuple(pair for metric in metrics for pair in _of_metric(results, every, shown, metric))


def _of_metric(
    results: Results, every: Sequence[str], shown: Sequence[tuple[str, str]], metric: Metric
) -> Sequence[ComparedPair]:
    p_values = {frozenset(pair): _p(results, *pair, metric) for pair in combinations(every, 2)}
    adjusted = dict(zip(p_values, holm([*p_values.values()]), strict=True))
    family = sum(p is not None for p in p_values.values())
    return [
        ComparedPair(
            arm=arm,
            reference=reference,
            metric=metric,
            difference=results.difference(arm, reference, metric),
            p=p_values[frozenset((arm, reference))],
            p_adjusted=adjusted[frozenset((arm, reference))],
            family=family,
        )
        for arm, reference in shown
    ]


def _p(results: Results, arm: str, reference: str, metric: Metric) -> float | None:
    p = results.estimate(arm, reference, metric).p().item()
    share = (1 - max(results.confidence(arm), results.confidence(reference))) / ALPHA
    return None if isnan(p) else min(1.0, p / share)


def pairs_of(
    snapshot: Snapshot,
    example_tables: Mapping[str, ExampleTable],
    arms: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> tuple[Results, tuple[ComparedPair, ...]]:
    """Return the results of a snapshot, and the pairs of the named arms on the named metrics.

    Of a search with a final comparison the results are those of the comparison.
    Without names: all arms, and held-out loss and score. Raises ConfigurationError with every wrong name, DataError
    for results without two arms.
    """
    if not snapshot.has_trials:
        raise DataError(f"{snapshot.experiment}: no model is trained; `steeplechase report` has its comparisons")
    results = compared_results(snapshot, example_tables)
    known, measured = [arm.name for arm in results.arms], {metric.name: metric for metric in results.metrics}
    if len(known) < 2:
        raise DataError(f"{snapshot.experiment}: fewer than two arms yet; `steeplechase run` adds them")
    mistakes = [*_mistakes(arms, "an arm", known), *_mistakes(metrics, "a metric", [*measured])]
    if mistakes:
        raise ConfigurationError(mistakes)
    chosen = [measured[name] for name in metrics] or list(results.headlines)
    return results, compared_pairs(results, arms or known, chosen)


def _mistakes(names: Sequence[str], what: str, known: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if name not in known:
            yield not_one_of(name, what, known)
        elif names.count(name) > 1:
            yield f"{name!r} is named twice"


def pair_report(results: Results, pairs: Sequence[ComparedPair]) -> Report:
    """Return the report of pairs of arms, at least one."""
    snapshot, conditions = results.snapshot, conditions_of(Evidence(results))
    return Report(
        experiment=printable(snapshot.experiment),
        scale=printable(scale_of(snapshot.scale)),
        question=printable(results.experiment.question),
        statements=(_finding(pairs),),
        paper="",
        tables=(pairs_table(pairs),),
        grids=tuple(_grids(results, pairs)),
        footer=tuple((term, printable(text)) for term, text in conditions if term in CONDITIONS),
        trials=trial_values([results]),
        made_with=made_with_of(snapshot),
    )


def _finding(pairs: Sequence[ComparedPair]) -> str:
    found = sum(pair.significant for pair in pairs)
    shown = counted(len(pairs), "difference")
    tests = " and ".join(f"{family}" for family in sorted({pair.family for pair in pairs}))
    return (
        f"{found} of {shown} {'is' if 1 in (found, len(pairs)) else 'are'} significant after the correction. The "
        f"pairs are chosen after the run, so Holm's correction is over all pairs of arms on a metric, {tests} here; "
        "the report's is over the comparisons with the baseline alone, and its p values and verdicts may differ."
    )


def pairs_table(pairs: Sequence[ComparedPair]) -> Table:
    """Return one row per pair and metric."""
    return Table.declared(RESULTS, COLUMNS, map(_row, pairs))


def _row(pair: ComparedPair) -> Row:
    named = {"arm": pair.arm, "reference": pair.reference, "metric": pair.metric.name}
    return {**named, **compared(pair.difference), "p": pair.p, "p_adjusted": pair.p_adjusted, "family": pair.family}


def _grids(results: Results, pairs: Sequence[ComparedPair]) -> Iterator[Grid]:
    def difference(pair: ComparedPair) -> Cell:
        return interval_cell(pair.difference, results.decimals(pair.metric))

    columns = [
        *(words("arms", lambda pair: f"{pair.arm} − {pair.reference}"), Column(DELTA, read=difference)),
        Column("uncorrected", "p", read=lambda pair: p_text(pair.p)),
        Column("adjusted", "p", read=lambda pair: p_text(pair.p_adjusted)),
    ]
    metrics = [*dict.fromkeys(pair.metric for pair in pairs)]
    for metric in metrics:
        rows = [pair for pair in pairs if pair.metric == metric]
        title = f"Differences in {metric.title} between arms"
        yield from shown(RESULTS, title, columns, rows, [NOTE] if metric == metrics[-1] else ())
