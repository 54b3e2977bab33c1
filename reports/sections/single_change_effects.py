"""Single-change effects: pairs of arms that differ in one factor only.

Pairs of the baseline and an arm with one change are left out: the main table has them.
"""

from collections.abc import Iterator, Mapping, Sequence

from reports.number_format import interval_text_with_n
from reports.section import METRIC, Content, Section, delta
from reports.statistics.isolated_pairs import IsolatedPair, isolated_pairs
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Grid, Row, Table, compared, shown, words
from steeplechase.analysis.difference import Difference

PAIRS_NAMED = 2  # maximum number of single-change effects named in a sentence
NOTE = "Differences of two arms, without correction for multiple comparisons."


def _pairs_of(results: Results) -> tuple[IsolatedPair, ...]:
    return isolated_pairs(results.arms, results.experiment.baseline)


def _rows(results: Results) -> Iterator[Row]:
    """Yield the difference of every pair on every metric."""
    for pair in results.once(_pairs_of):
        for metric in results.metrics:
            named = {"arm": pair.arm, "reference": pair.reference, "path": pair.path, "metric": metric.name}
            yield {**named, **compared(results.difference(pair.arm, pair.reference, metric))}


def _grids(isolated: Table, decimals: Mapping[str, int]) -> Iterator[Grid]:
    """Yield one grid per path, with the path in its title; the last one has the note."""
    columns = [words("arms", lambda row: f"{row['arm']} − {row['reference']}"), METRIC, delta(decimals)]
    paths = list(dict.fromkeys(row["path"] for row in isolated.rows))
    for path in paths:
        rows = [row for row in isolated.rows if row["path"] == path and row["metric"] in decimals]
        title = f"Effect of {path} alone: pairs of arms with all other fields equal"
        yield from shown(isolated.name, title, columns, rows, [NOTE] if path == paths[-1] else ())


def _content(results: Results) -> Content:
    isolated = Table.of("isolated", _rows(results))
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    return Content((isolated,), tuple(_grids(isolated, decimals)))


def _best_pairs(results: Results, pairs: Sequence[IsolatedPair], metric: Metric) -> Iterator[IsolatedPair]:
    """Yield for each path and reference the pair with the best arm by mean."""
    means = results.means(metric)
    for path, reference in dict.fromkeys((pair.path, pair.reference) for pair in pairs):
        same_path = [pair for pair in pairs if (pair.path, pair.reference) == (path, reference) and pair.arm in means]
        if same_path and reference in means:
            best = metric.best({pair.arm: means[pair.arm] for pair in same_path})
            yield next(pair for pair in same_path if pair.arm == best)


def _clauses(results: Results) -> Iterator[str]:
    """Yield single-change effects: one pair per path if few, else the number of pairs whose interval excludes 0."""
    pairs, metrics = results.once(_pairs_of), results.measured_headlines
    best_pairs = list(_best_pairs(results, pairs, metrics[0])) if metrics else []
    if len(best_pairs) <= PAIRS_NAMED:
        for pair in best_pairs:
            yield f"the effect of {_named(pair)} (without correction): {_isolated(results, pair, metrics)}"
        return
    metrics_told_apart = {
        pair: [metric for metric in metrics if _difference(results, pair, metric).excludes_zero] for pair in pairs
    }
    told_apart = [f"{_named(pair)}: {_isolated(results, pair, on)}" for pair, on in metrics_told_apart.items() if on]
    named = f" ({', '.join(told_apart)})" if 0 < len(told_apart) <= PAIRS_NAMED else ""
    count = f"{len(told_apart) or 'none'} {'have' if len(told_apart) > 1 else 'has'} an interval that excludes 0"
    yield f"of {len(pairs)} single-change comparisons (without correction) {count}{named}"


def _difference(results: Results, pair: IsolatedPair, metric: Metric) -> Difference:
    return results.difference(pair.arm, pair.reference, metric)


def _named(pair: IsolatedPair) -> str:
    return f"{pair.path} alone, {pair.arm} against {pair.reference}"


def _isolated(results: Results, pair: IsolatedPair, metrics: Sequence[Metric]) -> str:
    parts = []
    for metric in metrics:
        difference = _difference(results, pair, metric)
        direction = _direction(difference, metric)
        parts.append(f"{metric.title} {direction} ({interval_text_with_n(difference, results.decimals(metric))})")
    return ", ".join(parts)


def _direction(difference: Difference, metric: Metric) -> str:
    if difference.low is None or difference.delta is None:
        return "without an interval"
    if not difference.excludes_zero:
        return "not told apart"
    return "better" if metric.better(difference.delta, 0.0) else "worse"


SECTION = Section("isolated", _content, lambda results: not results.is_search, _clauses)
