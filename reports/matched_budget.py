"""Budget-matched effects: each arm's difference from the baseline at the baseline's budget, for the main table."""

from reports.number_format import NOTHING, UNKNOWN, scientific, short, signed
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from steeplechase.analysis.difference import Difference
from steeplechase.ledger.records import ArmRow


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
