"""Verdicts, and seeds that would decide."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.report import build
from reports.statistics.cell_test import CellTest
from reports.statistics.comparisons import Verdict, compare, verdict_of
from reports.statistics.metrics import Metric
from reports.statistics.reading import results_of
from steeplechase.analysis.difference import MeanTest
from steeplechase.analysis.group_sequential import Looks
from steeplechase.analysis.paired import holm
from steeplechase.ledger.records import TrialStatus
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import (
    TOKENS,
    Trial,
    document,
    primary,
    search_design,
    snapshot,
    table2,
    trials_of,
)

LOSS, SCORE = Metric("held_out_loss"), Metric("score")


@pytest.mark.parametrize(
    ("delta", "metric", "p_adjusted", "p_equivalence", "verdict"),
    [
        (-0.2, LOSS, 0.01, None, Verdict.HELPS),
        (0.2, LOSS, 0.01, None, Verdict.HURTS),
        (0.2, SCORE, 0.01, None, Verdict.HELPS),
        (0.2, SCORE, 0.06, None, Verdict.UNDECIDED),
        (0.2, SCORE, 0.01, 0.04, Verdict.NO_DIFFERENCE),
        (0.2, SCORE, 0.01, 0.06, Verdict.HELPS),
        (0.1, SCORE, 0.6, 0.6, Verdict.UNDECIDED),
        (0.2, SCORE, None, None, Verdict.UNDECIDED),
    ],
)
def test_verdict_words(
    delta: float, metric: Metric, p_adjusted: float | None, p_equivalence: float | None, verdict: Verdict
) -> None:
    assert verdict_of(metric, delta, p_adjusted, p_equivalence) is verdict


CELLS = st.lists(
    st.tuples(st.integers(-400, 400), st.lists(st.integers(-8, 8), min_size=3, max_size=5)), min_size=2, max_size=12
)


@given(CELLS, st.sampled_from(MeanTest), st.floats(0.125, 1.0))
def test_simultaneous_intervals_agree_with_verdicts(
    drawn: list[tuple[int, list[int]]], test: MeanTest, share: float
) -> None:
    arms = len(drawn) // 2
    zeros = {seed: 0.125 * (seed % 2) for seed in range(5)}
    cells = {
        (f"arm-{place % arms}", (LOSS, SCORE)[place // arms].name): CellTest(
            (LOSS, SCORE)[place // arms], dict(enumerate(shift / 8 + x for x in noise)), zeros, None, share, test
        )
        for place, (shift, noise) in enumerate(drawn[: 2 * arms])
    }
    for (arm, name), compared in compare(cells, (tuple(cells), ()), Looks(())).items():
        low, high = compared.corrected.low, compared.corrected.high
        excludes_zero = (low is not None and low >= 0) or (high is not None and high <= 0)
        assert compared.significant == excludes_zero
        if compared.significant and name == SCORE.name:
            assert compare(cells, (tuple(cells), ()), Looks(()))[arm, LOSS.name].significant
        if compared.gate_shut:
            assert (low, high, compared.detectable, compared.seeds_to_decide) == (None, None, None, None)


def test_equal_shares_of_the_gate_and_holm_correct_separately() -> None:
    table_rows = rows_of(build(table2(), primary=primary), "effects")
    assert len(table_rows) == 4 * 6
    losses = [row for row in table_rows if row["metric"] == "held_out_loss"]
    smallest = min(losses, key=lambda row: row["p"])
    assert smallest["p_adjusted"] == pytest.approx(4 * smallest["p"])
    assert all(row["p_adjusted"] >= row["p"] for row in table_rows)
    further = [row["p"] for row in table_rows if row["metric"] not in ("held_out_loss", "score")]
    adjusted = [row["p_adjusted"] for row in table_rows if row["metric"] not in ("held_out_loss", "score")]
    assert adjusted == pytest.approx(holm(further))


@pytest.mark.parametrize("test", MeanTest)
def test_the_declared_test_decides(test: MeanTest) -> None:
    view = table2()
    results = results_of(replace(view, document={**view.document, "comparison": str(test)}), primary)
    for row in rows_of(build(results.snapshot, primary=primary), "effects", metric="held_out_loss"):
        first, second = (results.values[arm]["held_out_loss"] for arm in (str(row["arm"]), "baseline"))
        if test is MeanTest.PAIRED:
            oracle = stats.ttest_rel(
                [first[seed] for seed in sorted(first)], [second[seed] for seed in sorted(first)]
            )
        else:
            oracle = stats.ttest_ind([*first.values()], [*second.values()], equal_var=False)
        bounds = oracle.confidence_interval()
        assert (row["test"], row["p"], row["degrees"]) == (
            str(test),
            pytest.approx(oracle.pvalue),
            pytest.approx(oracle.df),
        )
        assert (row["low"], row["high"]) == pytest.approx((bounds.low, bounds.high))


def test_the_experiments_own_margin_comes_before_the_papers() -> None:
    view = table2()
    named = replace(view, document={**view.document, "equivalence_margin": {"score": 0.001}})
    assert {row["margin"] for row in rows_of(build(view), "effects", metric="score")} == {5.0}
    assert {row["margin"] for row in rows_of(build(named), "effects", metric="score")} == {0.001}


def test_seeds_that_have_not_ended_change_no_verdict_of_a_sequential_design() -> None:
    """The look that they belong to is not completed, so that its share of the error is not spent."""
    losses = {"baseline": (6.0, 6.05, 6.1, 6.02, 6.08), "wide": (5.93, 6.0, 5.99, 5.98, 6.0)}
    rule = {"start": 3, "max": 7, "step": 2, "margin": {"held_out_loss": 0.01}}
    resolved = document(pretraining={"tokens": TOKENS, "seeds": {"until_decided": rule}})
    arms = {"baseline": {}, "wide": {"width": 512}}
    waiting = [Trial(arm, seed, TrialStatus.WAITING) for arm in arms for seed in (6, 7)]
    for trials in (trials_of(losses), [*trials_of(losses), *waiting]):
        (row,) = rows_of(build(snapshot(trials, arms, resolved=resolved)), "effects")
        of_five = stats.ttest_ind(losses["wide"], losses["baseline"], equal_var=False)
        assert row["p"] == pytest.approx(of_five.pvalue / 0.25)
        assert row["verdict"] == "undecided"


def test_an_undecided_arm_has_a_number_of_seeds_to_decide() -> None:
    trials = [Trial("baseline", seed).pretrained(6.0) for seed in (1, 2, 3)]
    trials += [Trial("wide", seed).pretrained(6.0 + x) for seed, x in ((1, -0.1), (2, -0.3), (3, 0.05))]
    view = snapshot(trials, arms={"baseline": {}, "wide": {"width": 512}}, resolved=document(seeds=(1, 2, 3)))
    (row,) = rows_of(build(view), "effects")
    sd = float(np.std([-0.1, -0.3, 0.05], ddof=1))  # the baseline's is 0, so that Welch's t is one-sample
    assert row["verdict"] == "undecided"
    needed, effect = row["seeds_to_decide"], 0.35 / 3
    assert isinstance(needed, int)
    for seeds, enough in ((needed, True), (needed - 1, False)):
        bar, shift = stats.t.ppf(0.975, seeds - 1), effect / sd * seeds**0.5
        assert (stats.nct.sf(bar, seeds - 1, shift) >= 0.8 - 2e-3) is np.bool_(enough) or not enough


@pytest.mark.parametrize("hurdles", [False, True])
def test_verdicts_on_trials_that_hurdles_chose_are_called_optimistic(hurdles: bool) -> None:
    losses = {"baseline": (6.0, 6.01), "c001": (5.9, 5.92), "c002": (5.8, 5.83)}
    trials = [Trial(arm, seed).pretrained(loss) for arm, ends in losses.items() for seed, loss in enumerate(ends, 1)]
    if hurdles:
        trials.append(Trial("c003", 1).pretrained(7.2, TOKENS // 2).judged(0, False, 7.2, 7.0))
    arms = {name: {"width": 64 * place} for place, name in enumerate((*losses, "c003"), start=1)}
    report = build(snapshot(trials, arms=arms, resolved=document(seeds=(1, 2), design=search_design())))
    assert any("No correction covers this" in note for note in grid_of(report, "effects").notes) == hurdles
