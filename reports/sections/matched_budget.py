"""Budget-matched effects: each arm's difference from the baseline as declared, and at the baseline's budget."""

from collections.abc import Iterator

from reports.columns import DELTA, METRIC, delta
from reports.grid import shown, words
from reports.number_format import NOTHING, UNKNOWN, scientific, short, signed
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, compared
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.ledger.records import ArmRow

MATCHED = "matched"
TITLE = "Differences as declared, and at the baseline's budget"


def _rows(results: Results) -> Iterator[Row]:
    """Yield one row per metric and arm with a copy; an arm of the baseline's budget is its own copy.

    `spends` and `baseline_spends` are in the unit of the budget if the ledger has it; of seconds only the share.
    """
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
                **compared(results.effect(arm.name, metric).difference, prefix="raw_"),
                **compared(matched_difference(results, arm.name, metric), prefix="matched_"),
            }


def matched_difference(results: Results, arm: str, metric: Metric) -> Difference:
    """Return the difference of an arm's matched arm to the baseline; none where it has no matched arm."""
    matched = results.matched_arms.get(arm)
    if matched is None or matched not in results.values:
        return Difference()
    return results.effect(matched, metric).difference


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


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    matched = Table.of(MATCHED, _rows(results))
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    columns = [words("arm"), words("matched_arm"), METRIC]
    columns += [delta(decimals, name, DELTA, prefix=f"{name}_") for name in ("raw", MATCHED)]
    rows = [row for row in matched.rows if row["metric"] in decimals]
    return Content((matched,), shown(MATCHED, TITLE, columns, rows))


SECTION = Section(MATCHED, _content, lambda evidence: bool(evidence.results.matched_arms))
