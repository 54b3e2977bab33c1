"""Gaps in held-out loss to the baseline by pretraining budget: arms equal except for `recipe.token_share`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from reports.figures.figure import ReportFigure
from reports.figures.named_lines import LOGARITHMIC, LinePanel, NamedLine, Point, figure_of
from reports.figures.style import COLOURS
from reports.number_format import NOTHING, short
from reports.section import DELTA, Content, Section, interval_cell
from reports.statistics.comparisons import TEST_NAMES
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Cell, Column, Table, compared, printable, shown, words
from search_space.candidate import Candidate
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.ledger.records import ArmRow

BY_BUDGET = "gap_by_budget"
NOTE = "Every budget is a training of its own with its own schedule; the baseline beside it has the same budget."


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


def _at_whole_budget(candidate: Candidate) -> Candidate:
    return candidate.model_copy(update={"recipe": candidate.recipe.model_copy(update={"token_share": 1.0})})


def _table(gaps: Sequence[BudgetGap]) -> Table:
    names = ("architecture", "arm", "reference", "tokens")
    rows = ({**{name: getattr(gap, name) for name in names}, **compared(gap.difference)} for gap in gaps)
    return Table.of(BY_BUDGET, rows)


def _content(results: Results) -> Content:
    gaps = results.once(budget_gaps_of)
    decimals = results.decimals(Metric(HELD_OUT_LOSS))
    budgets = sorted({gap.tokens for gap in gaps})
    cells = {(gap.architecture, gap.tokens): interval_cell(gap.difference, decimals) for gap in gaps}

    def at_budget(tokens: int, architecture: str) -> str | Cell:
        return cells.get((architecture, tokens), NOTHING)

    columns = [words("arm", str)]
    columns += [Column(f"{short(tokens)} tokens", DELTA, read=partial(at_budget, tokens)) for tokens in budgets]
    title = "Held-out loss against the baseline by pretraining budget"
    note = f"{NOTE} Intervals by {TEST_NAMES[results.test]}, not corrected."
    return Content(_table(gaps).filled, shown(BY_BUDGET, title, columns, _architectures(gaps), [note]))


def _architectures(gaps: Sequence[BudgetGap]) -> list[str]:
    return list(dict.fromkeys(gap.architecture for gap in gaps))


def _measured(results: Results) -> tuple[BudgetGap, ...] | None:
    """Return the measured gaps of the first architectures that have two; None where there are none."""
    measured = [gap for gap in results.once(budget_gaps_of) if gap.difference.delta is not None]
    names = [gap.architecture for gap in measured]
    named = [name for name in _architectures(measured) if names.count(name) > 1][: len(COLOURS) - 1]
    return tuple(gap for gap in measured if gap.architecture in named) or None


def _panel(gaps: Sequence[BudgetGap]) -> LinePanel:
    lines = []
    for name in _architectures(gaps):
        of_arm = [(gap.tokens, gap.difference) for gap in gaps if gap.architecture == name]
        points = [Point(tokens, each.delta, each.low, each.high) for tokens, each in of_arm]
        lines.append(NamedLine(printable(name), points))
    return LinePanel(
        lines=lines,
        title="Δ held-out loss (nats) to the baseline",
        spread=" of the same budget, 95% interval",
        label="tokens of pretraining",
        scale=LOGARITHMIC,
        tick=lambda tokens: short(round(tokens)),
        first_style=1,  # the first is the baseline's in other figures
        level=0.0,
    )


FIGURE = ReportFigure(
    BY_BUDGET,
    lambda _: "Gap to the baseline by pretraining budget",
    _measured,
    _table,
    lambda gaps: figure_of([_panel(gaps)]),
)
SECTION = Section(BY_BUDGET, _content, lambda results: bool(results.once(budget_gaps_of)), figure=FIGURE)
