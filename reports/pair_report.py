"""The report of differences between any two arms, looked up after a run."""

from collections.abc import Iterator, Mapping, Sequence

from reports.by_recipe import at_shared_recipe
from reports.document import Report
from reports.footer import footer_of, scale_of
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.made_with import made_with_of
from reports.number_format import counted, p_text
from reports.sanitise import printable
from reports.sections.difference_cells import interval_cell
from reports.statistics.compared_pairs import ComparedPair, compared_pairs
from reports.statistics.latency import is_latency
from reports.statistics.results import Results, results_of
from reports.statistics.trial_values import trial_values
from reports.table import Row, Table, interval, table
from steeplechase.foundation.errors import ConfigurationError, DataError, not_one_of
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot

RESULTS = "results"
CONDITIONS = ("Seeds", "Sampled", "Diverged")
"""The conditions that differences depend on; the whole report has all."""
COLUMNS = "arm reference metric n delta low high p p_adjusted family"
NOTE = "A direction that is declared before a run is a claim; reports test it."


def pairs_of(
    snapshot: Snapshot,
    example_tables: Mapping[str, ExampleTable],
    arms: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> tuple[Results, tuple[ComparedPair, ...]]:
    """Return the results of a snapshot, and the pairs of the named arms on the named metrics.

    Without names: all arms, and held-out loss and score. Raises ConfigurationError with every wrong name, DataError
    for results without two arms.
    """
    if is_latency(snapshot):
        raise DataError(f"{snapshot.experiment}: a timing experiment; `steeplechase report` has its comparisons")
    results = results_of(at_shared_recipe(snapshot), example_tables=example_tables)
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
    snapshot = results.snapshot
    return Report(
        experiment=printable(snapshot.experiment),
        scale=printable(scale_of(snapshot.scale)),
        question=printable(results.experiment.question),
        finding=_finding(pairs),
        paper="",
        tables=(pairs_table(pairs),),
        grids=tuple(_grids(results, pairs)),
        footer=tuple((term, printable(text)) for term, text in footer_of(results) if term in CONDITIONS),
        trials=trial_values(results),
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
    return table(RESULTS, COLUMNS, map(_row, pairs))


def _row(pair: ComparedPair) -> Row:
    return {
        "arm": pair.arm,
        "reference": pair.reference,
        "metric": pair.metric.name,
        "n": pair.difference.n,
        **interval(pair.difference),
        "p": pair.p,
        "p_adjusted": pair.p_adjusted,
        "family": pair.family,
    }


def _grids(results: Results, pairs: Sequence[ComparedPair]) -> Iterator[Grid]:
    columns = [Column("arms", numeric=False), Column("Δ [95%] (n)")]
    columns += [Column("uncorrected", "p"), Column("adjusted", "p")]
    metrics = [*dict.fromkeys(pair.metric for pair in pairs)]
    for metric in metrics:
        rows = [pair for pair in pairs if pair.metric == metric]
        title = f"Differences in {metric.title} between arms"
        found = grid(RESULTS, title, columns, (_cells(results, pair) for pair in rows))
        yield with_notes(found, [NOTE]) if metric == metrics[-1] else found


def _cells(results: Results, pair: ComparedPair) -> Iterator[str | Cell]:
    yield f"{pair.arm} − {pair.reference}"
    yield interval_cell(pair.difference, results.decimals(pair.metric))
    yield p_text(pair.p)
    yield p_text(pair.p_adjusted)
