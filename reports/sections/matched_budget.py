"""Matched effects: each arm's difference from the baseline as it is, and at the baseline's budget, side by side."""

from collections.abc import Iterable, Iterator, Mapping

from analysis.effects import Difference
from configuration.arm import BASELINE
from ledger.records import ArmRow
from reports.number_format import NOTHING, UNKNOWN, scientific, short, signed
from reports.results import Results
from reports.sections.details_text import interval_cell
from reports.sections.grids import Cell, Column, Grid, grid
from reports.sections.table import Row, Table, number, table
from reports.statistics.metrics import Metric

MATCHED = "matched"
GROUP = "Δ [95%] (n)"
COLUMNS = (
    "arm twin budget spends baseline_spends share tolerance metric "
    "raw_n raw_delta raw_low raw_high matched_n matched_delta matched_low matched_high"
)


def has_matches(results: Results) -> bool:
    """Return whether any arm has a twin of the baseline's budget."""
    return bool(results.matched_arms)


def matched_table(results: Results) -> Table:
    """Return one row per arm with a twin and metric; an arm of the baseline's own budget is its own twin.

    `spends` and `baseline_spends` are the budget in its own unit where the ledger holds it; seconds are a share only.
    """
    return table(MATCHED, COLUMNS, _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    match = results.setting.match
    for arm in results.arms:
        if arm.name not in results.matched_arms:
            continue
        twin = results.matched_arms[arm.name]
        for metric in results.metrics:
            yield {
                "arm": arm.name,
                "matched_arm": twin,
                "budget": match.budget if match else None,
                "spends": _spends(results, twin),
                "baseline_spends": _spends(results, BASELINE),
                "share": arm.matched_spend,
                "tolerance": match.tolerance if match else None,
                "metric": metric.name,
                **_prefixed("raw", results.effect(arm.name, metric).difference),
                **_prefixed("matched", results.matched(arm.name, metric)),
            }


def _spends(results: Results, name: str) -> int | None:
    """Return an arm's budget where a candidate has it whatever machine it runs on."""
    found = next((arm for arm in results.arms if arm.name == name), None)
    budget = results.setting.match.budget if results.setting.match else ""
    return None if found is None else {"parameters": found.parameters, "train_flops": found.train_flops}.get(budget)


def budget_text(results: Results, arm: ArmRow) -> str:
    """Return what an arm's twin spends: of parameters or FLOPs the count, and how far that is from the baseline's."""
    twin, match = results.matched_arms.get(arm.name), results.setting.match
    if twin is None:
        return NOTHING
    spends = _spends(results, twin)
    count = "" if spends is None else scientific(spends) if match and match.budget == "train_flops" else short(spends)
    share = "" if arm.matched_spend is None else f"{signed(100 * (arm.matched_spend - 1), 2)}%"
    return f"{count} ({share})" if count and share else count or share or UNKNOWN


def matched_note(results: Results) -> str:
    """Return what matched means here; empty where nothing is."""
    match = results.setting.match
    if match is None or not results.matched_arms:
        return ""
    shared = len(results.matched_arms) - len(set(results.matched_arms.values()))
    both = "; arms that share a twin are both matched by it" if shared else ""
    return (
        f"matched Δ: of the arm's twin, which spends the baseline's {match.budget.replace('_', ' ')} within "
        f"{100 * match.tolerance:g}%, {match.by.replace('_', ' ')} giving way; twin spends: what it really does"
        f"{both}."
    )


def _prefixed(prefix: str, difference: Difference) -> Row:
    return {
        f"{prefix}_n": difference.pairs,
        f"{prefix}_delta": difference.delta,
        f"{prefix}_low": difference.low,
        f"{prefix}_high": difference.high,
    }


def matched_grids(found: Table, decimals: Mapping[str, int]) -> Iterable[Grid]:
    """Return the table as people read it, for the metrics that have decimals."""

    def cells(row: Row) -> list[str | Cell]:
        places = decimals[str(row["metric"])]
        title = Metric(str(row["metric"])).title
        return [
            str(row["arm"]),
            str(row["matched_arm"]),
            title,
            *(interval_cell(_difference(row, side), places) for side in ("raw", MATCHED)),
        ]

    columns = [Column("arm", numeric=False), Column("matched_arm", numeric=False), Column("metric", numeric=False)]
    columns += [Column("raw", GROUP), Column(MATCHED, GROUP)]
    rows = [cells(row) for row in found.rows if row["metric"] in decimals]
    return (grid(MATCHED, "Differences as they are, and at the baseline's budget", columns, rows),)


def _difference(row: Row, side: str) -> Difference:
    pairs = row[f"{side}_n"]
    assert isinstance(pairs, int)
    return Difference(pairs, *(number(row[f"{side}_{part}"]) for part in ("delta", "low", "high")))
