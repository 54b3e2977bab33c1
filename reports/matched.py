"""Matched effects: each arm's difference from the baseline as it is, and at the baseline's budget, side by side."""

from collections.abc import Iterable, Iterator, Mapping

from reports.effects import Difference
from reports.grids import Column, Grid, grid
from reports.metrics import Metric
from reports.numbers import told
from reports.reading import number
from reports.results import Results
from reports.table import Row, Table, table

MATCHED = "matched"
GROUP = "Δ [95%] (n)"
COLUMNS = "arm twin metric raw_n raw_delta raw_low raw_high matched_n matched_delta matched_low matched_high"


def has_matches(results: Results) -> bool:
    """Return whether any arm has a twin of the baseline's budget."""
    return any(arm.matches is not None for arm in results.arms)


def matched_table(results: Results) -> Table:
    """Return one row per arm with a twin and metric; an arm of the baseline's own budget is its own twin."""
    return table(MATCHED, COLUMNS, _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    twins = {arm.matches: arm.name for arm in results.arms if arm.matches is not None}
    for arm in results.arms:
        if arm.name not in twins:
            continue
        twin = twins[arm.name]
        for metric in results.metrics:
            raw, matched = (results.effect(name, metric).difference for name in (arm.name, twin))
            yield {
                "arm": arm.name,
                "twin": twin,
                "metric": metric.name,
                **_prefixed("raw", raw),
                **_prefixed("matched", matched),
            }


def _prefixed(prefix: str, difference: Difference) -> Row:
    return {
        f"{prefix}_n": difference.pairs,
        f"{prefix}_delta": difference.delta,
        f"{prefix}_low": difference.low,
        f"{prefix}_high": difference.high,
    }


def matched_grids(found: Table, decimals: Mapping[str, int]) -> Iterable[Grid]:
    """Return the table as people read it, for the metrics that have decimals."""

    def cells(row: Row) -> list[str]:
        places = decimals[str(row["metric"])]
        title = Metric(str(row["metric"])).title
        return [str(row["arm"]), title, *(told(_difference(row, side), places) for side in ("raw", MATCHED))]

    columns = [Column("arm", numeric=False), Column("metric", numeric=False)]
    columns += [Column("raw", GROUP), Column(MATCHED, GROUP)]
    rows = [cells(row) for row in found.rows if row["metric"] in decimals]
    return (grid(MATCHED, "Differences as they are, and at the baseline's budget", columns, rows),)


def _difference(row: Row, side: str) -> Difference:
    pairs = row[f"{side}_n"]
    assert isinstance(pairs, int)
    return Difference(pairs, *(number(row[f"{side}_{part}"]) for part in ("delta", "low", "high")))
