"""The report of differences between any two arms, looked up after a run.

Holm's correction is over every pair of a metric, whichever of them are shown: which ones to look at is chosen after
the values are known.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from reports.document import Report
from reports.made_with import made_with_of
from reports.number_format import counted, sentence_of
from reports.report import conditions_of
from reports.section import delta, p_value
from reports.sections import sections
from reports.sections.main_table import deciding_metrics
from reports.sections.setup import scale_of
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.statistics.trial_values import trial_values
from reports.table import Column, Grid, Row, Table, compared, number, printable, shown, words
from reports.views import compared_results
from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.paired import holm
from steeplechase.foundation.errors import ConfigurationError, DataError, not_one_of
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import finite

RESULTS = "results"
CONDITIONS = ("Seeds", "Sampled", "Diverged")
"""The conditions that differences depend on; the whole report has all."""
COLUMNS = ("arm", "reference", "metric", "n", "delta", "low", "high", "p", "p_adjusted", "family")
NOTE = "A direction that is declared before a run is a claim; reports test it."


def pairs_table(results: Results, arms: Sequence[str], metrics: Sequence[Metric]) -> Table:
    """Return every pair of the named arms by metric, the earlier minus the later; a single arm minus each other one.

    At least one arm and one metric are named, all of them in the results. Differences are by the test that decides
    verdicts, p is divided by the share of α at the arms' look, `family` is the number of tests of the correction.
    """
    every = [arm.name for arm in results.arms]
    pairs = [*combinations(arms, 2)] if len(arms) > 1 else [(arms[0], arm) for arm in every if arm != arms[0]]
    return Table.declared(RESULTS, COLUMNS, (row for metric in metrics for row in _rows(results, pairs, metric)))


def _rows(results: Results, pairs: Sequence[tuple[str, str]], metric: Metric) -> Iterator[Row]:
    p_values: dict[frozenset[str], float | None] = {}
    for arm, reference in combinations([arm.name for arm in results.arms], 2):
        p = finite(results.estimate(arm, reference, metric).p().item())
        share = (1 - max(results.confidence(arm), results.confidence(reference))) / ALPHA
        p_values[frozenset((arm, reference))] = None if p is None else min(1.0, p / share)
    adjusted = dict(zip(p_values, holm([*p_values.values()]), strict=True))
    family = sum(p is not None for p in p_values.values())
    for arm, reference in pairs:
        named: Row = {"arm": arm, "reference": reference, "metric": metric.name}
        pair, difference = frozenset((arm, reference)), compared(results.difference(arm, reference, metric))
        yield {**named, **difference, "p": p_values[pair], "p_adjusted": adjusted[pair], "family": family}


def pairs_of(
    snapshot: Snapshot,
    example_tables: Mapping[str, ExampleTable],
    arms: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> tuple[Results, Table]:
    """Return the results of a snapshot, and the pairs of the named arms on the named metrics.

    Of a search with a final comparison the results are those of the comparison.
    A task's name and `TASK:METRIC` with its primary metric mean the same. Without names: all arms, and held-out loss
    and score. Raises ConfigurationError with every wrong name, DataError
    for results without two arms.
    """
    if not snapshot.has_trials:
        raise DataError(f"{snapshot.experiment}: no model is trained; `steeplechase report` has its comparisons")
    results = compared_results(snapshot, example_tables)
    known, measured = [arm.name for arm in results.arms], {metric.name: metric for metric in results.metrics}
    if len(known) < 2:
        raise DataError(f"{snapshot.experiment}: fewer than two arms yet; `steeplechase run` adds them")
    hidden = {arm: reason for arm in arms if (reason := snapshot.why_hidden(arm)) is not None}
    others = [arm for arm in arms if arm not in hidden]
    decides = {f"{task}:{results.primary(task)}": task for task in results.tasks}
    named = [decides.get(name, name) for name in metrics]
    mistakes = [*hidden.values(), *_mistakes(others, "an arm", known), *_mistakes(named, "a metric", [*measured])]
    if mistakes:
        raise ConfigurationError(mistakes)
    chosen = [measured[name] for name in named] or list(results.headlines)
    return results, pairs_table(results, arms or known, chosen)


def _mistakes(names: Sequence[str], what: str, known: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if name not in known:
            yield not_one_of(name, what, known)
        elif names.count(name) > 1:
            yield f"{name!r} is named twice"


def pair_report(results: Results, pairs: Table) -> Report:
    """Return the report of pairs of arms, at least one."""
    snapshot, conditions = results.snapshot, conditions_of(results)
    return Report(
        experiment=printable(snapshot.experiment),
        scale=printable(scale_of(snapshot.scale)),
        question=printable(results.experiment.question),
        statements=(*_finding(results, pairs), *_without_finding(results, pairs)),
        paper="",
        tables=(pairs,),
        grids=tuple(_grids(results, pairs)),
        footer=tuple((term, printable(text)) for term, text in conditions if term in CONDITIONS),
        trials=trial_values([results]),
        made_with=made_with_of(snapshot),
    )


def _testable(results: Results, row: Row) -> bool:
    return Metric(str(row["metric"])).task not in results.below_reference


def _without_finding(results: Results, pairs: Table) -> Iterator[str]:
    """Yield of which models means are, and on which tasks no difference is claimed, as the whole report says it."""
    if results.own_recipes is not None:
        yield "Both arms are at the recipe that all arms share; the report compares each at its own."
    names = ("plateau", *(["reference"] if not all(_testable(results, row) for row in pairs.rows) else []))
    yield from (sentence_of(clause) for name in names for clause in sections()[name].clauses(results))


def _finding(results: Results, pairs: Table) -> Iterator[str]:
    """Yield how many differences are significant, of those that can be tested and claimed."""
    rows = [row for row in pairs.rows if _testable(results, row)]
    adjusted = [p for row in rows if (p := number(row["p_adjusted"])) is not None]
    found, count, without = sum(p <= ALPHA for p in adjusted), len(adjusted), len(rows) - len(adjusted)
    families = {row["family"] for row in rows if isinstance(row["family"], int)}
    tests = " and ".join(map(str, sorted(families)))
    if without:
        yield (
            f"{without} of {counted(len(rows), 'difference')} cannot be tested: a test needs two or more seeds of "
            "both arms that vary and have left the plateau of the loss."
        )
    if count:
        yield (
            f"{found} of {counted(count, 'difference')} {'is' if 1 in (found, count) else 'are'} significant after "
            "the correction. The pairs are chosen after the run, so Holm's correction is over all pairs of arms on a "
            f"metric, {tests} here; the report's is over the comparisons with the baseline alone, and its p values "
            "and verdicts may differ."
        )


def _arms_named(results: Results, rows: Sequence[Row]) -> list[str]:
    """Return the arms that tell a comparison from others: one against all others, some, or none where all are."""
    first, others = ([*dict.fromkeys(str(row[side]) for row in rows)] for side in ("arm", "reference"))
    arms = [*dict.fromkeys((*first, *others))]
    if len(arms) < len(results.arms):
        return arms
    return first if len(first) == 1 else []


def _grids(results: Results, pairs: Table) -> Iterator[Grid]:
    metrics = [Metric(name) for name in dict.fromkeys(str(row["metric"]) for row in pairs.rows)]
    columns = [
        words("arms", lambda row: f"{row['arm']} − {row['reference']}"),
        delta({metric.name: results.decimals(metric) for metric in metrics}),
        *(Column("uncorrected", "p", read=p_value("p")), Column("adjusted", "p", read=p_value("p_adjusted"))),
    ]
    for metric in metrics:
        rows = [row for row in pairs.rows if row["metric"] == metric.name]
        title = f"Differences in {metric.title} between arms"
        name = " ".join((RESULTS, metric.name, *_arms_named(results, rows)))  # of the label of a table in LaTeX
        notes = [*deciding_metrics(results, metrics), NOTE] if metric == metrics[-1] else []
        yield from shown(name, title, columns, rows, notes)
