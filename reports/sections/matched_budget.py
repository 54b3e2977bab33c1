"""Budget-matched effects: each arm's difference from the baseline as declared, and at the baseline's budget."""

from collections.abc import Iterable, Iterator, Mapping

from reports.grid import Cell, Column, Grid, grid
from reports.number_format import NOTHING, UNKNOWN, scientific, short, signed
from reports.section import Content, Section
from reports.sections.difference_cells import interval_cell
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.ledger.records import ArmRow

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
    """Return one row per metric and arm with a copy; an arm of the baseline's budget is its own copy.

    `spends` and `baseline_spends` are in the unit of the budget if the ledger has it; of seconds only the share.
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
    """Return an arm's budget if it does not depend on the machine; None for seconds."""
    row = next((arm for arm in results.arms if arm.name == name), None)
    budget = results.experiment.match.budget if results.experiment.match else ""
    return None if row is None else {"parameters": row.parameters, "train_flops": row.train_flops}.get(budget)


def budget_text(results: Results, arm: ArmRow) -> str:
    """Return the budget of an arm's copy: the count of parameters or FLOPs, and its relative difference."""
    copy, match = results.matched_arms.get(arm.name), results.experiment.match
    if copy is None:
        return NOTHING
    spends = _spends(results, copy)
    count = "" if spends is None else scientific(spends) if match and match.budget == "train_flops" else short(spends)
    share = "" if arm.matched_spend is None else f"{signed(100 * (arm.matched_spend - 1), 2)}%"
    return f"{count} ({share})" if count and share else count or share or UNKNOWN


def matched_note(results: Results) -> str:
    """Return the note that defines matched; empty without matched arms."""
    match = results.experiment.match
    if match is None or not results.matched_arms:
        return ""
    shared = len(results.matched_arms) - len(set(results.matched_arms.values()))
    shared_copies = "; several arms may share one copy" if shared else ""
    budget, by = match.budget.replace("_", " "), match.by.replace("_", " ")
    return (
        f"matched Δ: difference of the arm's budget-matched copy, whose {by} is chosen so that its {budget} are "
        f"within {100 * match.tolerance:g}% of the baseline's; copy's budget: its own value{shared_copies}."
    )


def _prefixed(prefix: str, difference: Difference) -> Row:
    return {
        f"{prefix}_n": difference.n,
        f"{prefix}_delta": difference.delta,
        f"{prefix}_low": difference.low,
        f"{prefix}_high": difference.high,
    }


def matched_grids(matched: Table, decimals: Mapping[str, int]) -> Iterable[Grid]:
    """Return the table as a grid, for the metrics that have decimals."""

    def cells(row: Row) -> list[str | Cell]:
        digits = decimals[str(row["metric"])]
        title = Metric(str(row["metric"])).title
        return [
            str(row["arm"]),
            str(row["matched_arm"]),
            title,
            *(interval_cell(_difference(row, prefix), digits) for prefix in ("raw", MATCHED)),
        ]

    columns = [Column("arm", numeric=False), Column("matched_arm", numeric=False), Column("metric", numeric=False)]
    columns += [Column("raw", GROUP), Column(MATCHED, GROUP)]
    rows = [cells(row) for row in matched.rows if row["metric"] in decimals]
    return (grid(MATCHED, "Differences as declared, and at the baseline's budget", columns, rows),)


def _difference(row: Row, prefix: str) -> Difference:
    pairs = row[f"{prefix}_n"]
    assert isinstance(pairs, int)
    return Difference(pairs, *(number(row[f"{prefix}_{part}"]) for part in ("delta", "low", "high")))


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    matched = matched_table(results)
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    return Content((matched,), tuple(matched_grids(matched, decimals)) if matched.rows else ())


SECTION = Section("matched", _content, lambda evidence: has_matches(evidence.results))
