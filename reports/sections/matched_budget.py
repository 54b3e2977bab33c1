"""Matched effects: each arm's difference from the baseline as it is, and at the baseline's budget, side by side."""

from collections.abc import Iterable, Iterator, Mapping

from analysis.effects import Difference
from configuration.arm import BASELINE
from ledger.records import ArmRow
from reports.grid import Cell, Column, Grid, grid
from reports.number_format import NOTHING, UNKNOWN, scientific, short, signed
from reports.section import Content, Section
from reports.sections.difference_cells import interval_cell
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, number, table

MATCHED = "matched"
GROUP = "Δ [95%] (n)"
COLUMNS = (
    "arm matched_arm budget spends baseline_spends share tolerance metric "
    "raw_n raw_delta raw_low raw_high matched_n matched_delta matched_low matched_high"
)


def has_matches(results: Results) -> bool:
    """Return whether any arm has a budget-matched copy."""
    return bool(results.matched_arms)


def matched_table(results: Results) -> Table:
    """Return one row per arm with a copy and metric; an arm of the baseline's own budget is its own copy.

    `spends` and `baseline_spends` are the budget in its own unit where the ledger holds it; seconds are a share only.
    """
    return table(MATCHED, COLUMNS, _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    match = results.experiment.match
    for arm in results.arms:
        if arm.name not in results.matched_arms:
            continue
        copy = results.matched_arms[arm.name]
        for metric in results.metrics:
            yield {
                "arm": arm.name,
                "matched_arm": copy,
                "budget": match.budget if match else None,
                "spends": _spends(results, copy),
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
    budget = results.experiment.match.budget if results.experiment.match else ""
    return None if found is None else {"parameters": found.parameters, "train_flops": found.train_flops}.get(budget)


def budget_text(results: Results, arm: ArmRow) -> str:
    """Return what an arm's copy spends: of parameters or FLOPs the count, and its distance from the baseline's."""
    copy, match = results.matched_arms.get(arm.name), results.experiment.match
    if copy is None:
        return NOTHING
    spends = _spends(results, copy)
    count = "" if spends is None else scientific(spends) if match and match.budget == "train_flops" else short(spends)
    share = "" if arm.matched_spend is None else f"{signed(100 * (arm.matched_spend - 1), 2)}%"
    return f"{count} ({share})" if count and share else count or share or UNKNOWN


def matched_note(results: Results) -> str:
    """Return what matched means here; empty where nothing is."""
    match = results.experiment.match
    if match is None or not results.matched_arms:
        return ""
    shared = len(results.matched_arms) - len(set(results.matched_arms.values()))
    both = "; arms that share a copy are both matched by it" if shared else ""
    return (
        f"matched Δ: of the arm's budget-matched copy, which spends the baseline's {match.budget.replace('_', ' ')} "
        f"within {100 * match.tolerance:g}%, {match.by.replace('_', ' ')} giving way; copy spends: its own budget"
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


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    matched = matched_table(results)
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    return Content((matched,), tuple(matched_grids(matched, decimals)) if matched.rows else ())


SECTION = Section("matched", _content, lambda evidence: has_matches(evidence.results))
