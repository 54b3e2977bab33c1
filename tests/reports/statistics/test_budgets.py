"""Gaps to the baseline by pretraining budget: each arm against the baseline of its own budget."""

from dataclasses import replace

import pytest

from reports.report import build
from reports.sections.gap_by_budget import budget_gaps_of
from reports.statistics.reading import results_of
from steeplechase.configuration.arm import BASELINE
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import Trial, document
from tests.factories.reports import snapshot as snapshot_of

SPAN = "span_dynamic"


def two_budgets(seeds: tuple[int, ...] = (1, 2, 3)) -> Snapshot:
    """Return two architectures at one and two shares of the tokens."""
    shares = {"": 1.0, "_2x": 2.0}
    arms = {
        f"{name}{ending}": {"recipe.token_share": share}
        for name in (BASELINE, SPAN)
        for ending, share in shares.items()
    }
    trials = [
        Trial(arm, seed).pretrained(
            5.0 - (arm.startswith(SPAN)) - 0.5 * arm.endswith("_2x") * (1 + arm.startswith(SPAN))
        )
        for arm in arms
        for seed in seeds
    ]
    found = snapshot_of(trials, arms=arms, resolved=document())
    rows = []
    for arm in found.arms:
        architecture = arm.candidate.architecture.model_copy(update={"heads": 2 if arm.name.startswith(SPAN) else 4})
        recipe = arm.candidate.recipe.model_copy(update={"token_share": arms[arm.name]["recipe.token_share"]})
        candidate = arm.candidate.model_copy(update={"architecture": architecture, "recipe": recipe})
        rows.append(replace(arm, candidate=candidate))
    return replace(found, arms=tuple(rows))


def test_gaps_by_budget_are_to_the_baseline_of_the_same_budget() -> None:
    gaps = budget_gaps_of(results_of(two_budgets()))
    assert [(gap.architecture, gap.arm, gap.reference, gap.tokens) for gap in gaps] == [
        (SPAN, SPAN, BASELINE, 2_000_000),
        (SPAN, f"{SPAN}_2x", f"{BASELINE}_2x", 4_000_000),
    ]
    assert [gap.difference.delta for gap in gaps] == pytest.approx([-1.0, -1.5])
    assert all(gap.difference.n == 3 for gap in gaps)


def test_the_figure_by_budget_has_the_rows_of_the_table_and_a_line_per_architecture() -> None:
    built = build(two_budgets())
    (picture,) = (each for each in built.pictures if each.name == "gap_by_budget")
    assert [*picture.numbers.rows] == rows_of(built, "gap_by_budget")
    (axes,) = picture.figure.draw(picture.data).axes
    (line,) = (each for each in axes.lines if len(each.get_xdata()) == 2 and each.get_marker() != "None")
    assert [*line.get_ydata()] == pytest.approx([-1.0, -1.5])


def test_one_seed_has_no_interval_in_the_figure_by_budget() -> None:
    (picture,) = (each for each in build(two_budgets((1,))).pictures if each.name == "gap_by_budget")
    (axes,) = picture.figure.draw(picture.data).axes
    assert not axes.collections
    assert "interval" not in axes.get_title()


def test_the_note_names_the_test_that_the_experiment_declares() -> None:
    paired = replace(two_budgets(), document=document(comparison="paired"))
    assert "Intervals by Student's t, paired" in grid_of(build(paired), "gap_by_budget").notes[0]
