"""The gap to the baseline by pretraining budget: arms that are equal except for `recipe.token_share`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table
from search_space.candidate import Candidate
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.ledger.records import ArmRow

BY_BUDGET = "gap_by_budget"


@dataclass(frozen=True)
class BudgetGap:
    """The gap in held-out loss of an arm to the baseline trained with the same budget."""

    architecture: str
    """The name of the arm at the largest share up to that of the baseline."""
    arm: str
    reference: str
    tokens: int
    difference: Difference


def budget_gaps_of(results: Results) -> tuple[BudgetGap, ...]:
    """Return the gaps of all arms at every budget that the baseline has too; none where there is one budget alone."""
    groups: dict[Candidate, dict[float, ArmRow]] = {}
    for arm in results.arms:
        groups.setdefault(_at_whole_budget(arm.candidate), {}).setdefault(arm.candidate.recipe.token_share, arm)
    reference = next((group for group in groups.values() if any(arm.name == BASELINE for arm in group.values())), {})
    if len(reference) < 2:
        return ()
    others = (group for group in groups.values() if group is not reference)
    return tuple(gap for group in others for gap in _gaps(results, group, reference))


def _gaps(results: Results, group: dict[float, ArmRow], reference: dict[float, ArmRow]) -> Iterator[BudgetGap]:
    shared = sorted(group.keys() & reference.keys())
    if len(shared) < 2:
        return
    whole = next(share for share, arm in reference.items() if arm.name == BASELINE)
    name = group[max((share for share in shared if share <= whole), default=shared[0])].name
    loss = Metric(HELD_OUT_LOSS)
    for share in shared:
        arm, other = group[share], reference[share]
        tokens = arm.candidate.recipe.own_tokens(results.experiment.pretraining.tokens)
        yield BudgetGap(name, arm.name, other.name, tokens, results.difference(arm.name, other.name, loss))


def budget_table(gaps: Sequence[BudgetGap]) -> Table:
    """Return the gap of every arm to the baseline of the same budget."""
    return table(BY_BUDGET, "architecture arm reference tokens n delta low high", map(_row, gaps))


def _row(gap: BudgetGap) -> Row:
    return {
        "architecture": gap.architecture,
        "arm": gap.arm,
        "reference": gap.reference,
        "tokens": gap.tokens,
        "n": gap.difference.n,
        **interval(gap.difference),
    }


def _at_whole_budget(candidate: Candidate) -> Candidate:
    return candidate.model_copy(update={"recipe": candidate.recipe.model_copy(update={"token_share": 1.0})})
