"""Verdicts, diverged seeds, two levels of seeds, and marks of low variance."""

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from analysis.effects import paired
from analysis.proportions import wilson
from analysis.variance_components import hierarchical_bootstrap, spread_of
from reports.report import Report, build
from reports.statistics.comparisons import CellTest, Verdict, verdict_of
from reports.statistics.metrics import Metric
from reports.table import Row
from tests.factories.reports import Trial, document, primary, snapshot, table2

LOSS, SCORE = Metric("held_out_loss"), Metric("score")


def rows(report: Report, name: str, **where: object) -> list[Row]:
    (found,) = (table for table in report.tables if table.name == name)
    return [row for row in found.rows if all(row[key] == value for key, value in where.items())]


def judging(differences: list[float], metric: Metric, margin: float | None) -> CellTest:
    values = dict(enumerate(differences))
    nothing = dict.fromkeys(values, 0.0)
    return CellTest(metric, values, nothing, paired(values, nothing), margin, 1.0)


@pytest.mark.parametrize(
    ("differences", "metric", "margin", "p_holm", "verdict"),
    [
        ([-0.2, -0.21, -0.19], LOSS, None, 0.01, Verdict.HELPS),
        ([0.2, 0.21, 0.19], LOSS, None, 0.01, Verdict.HURTS),
        ([0.2, 0.21, 0.19], SCORE, None, 0.01, Verdict.HELPS),
        ([0.2, 0.21, 0.19], SCORE, None, 0.06, Verdict.UNDECIDED),
        ([0.2, 0.21, 0.19], SCORE, 0.5, 0.01, Verdict.NO_DIFFERENCE),
        ([0.2, -0.21, 0.19], SCORE, 0.5, 0.6, Verdict.UNDECIDED),
        ([0.2], SCORE, 0.5, None, Verdict.UNDECIDED),
        ([0.2, 0.2, 0.2], SCORE, 0.5, None, Verdict.UNDECIDED),
    ],
)
def test_verdict_words(
    differences: list[float], metric: Metric, margin: float | None, p_holm: float | None, verdict: Verdict
) -> None:
    assert verdict_of(judging(differences, metric, margin), p_holm) is verdict


def test_holm_corrects_headline_cells_and_further_cells_separately() -> None:
    table_rows = rows(build(table2(), primary=primary), "effects")
    assert len(table_rows) == 4 * 6
    headline = [row for row in table_rows if row["metric"] in ("held_out_loss", "score")]
    smallest = min(headline, key=lambda row: row["p"])  # type: ignore[arg-type,return-value]
    assert smallest["p_holm"] == pytest.approx(8 * smallest["p"])  # type: ignore[operator]
    assert all(row["p_holm"] >= row["p"] for row in table_rows)  # type: ignore[operator]


def test_the_experiments_own_margin_comes_before_the_papers() -> None:
    view = table2()
    named = replace(view, document={**view.document, "equivalence_margin": {"score": 0.001}})
    assert {row["margin"] for row in rows(build(view), "effects", metric="score")} == {5.0}
    assert {row["margin"] for row in rows(build(named), "effects", metric="score")} == {0.001}


def test_diverged_seeds_are_counted_left_out_and_replaced_by_the_worst() -> None:
    trials = [Trial("baseline", seed).pretrained(6.0 + seed / 100) for seed in (1, 2, 3)]
    trials += [Trial("wide", 1).pretrained(5.9), Trial("wide", 2).pretrained(5.92), Trial("wide", 3).diverged()]
    view = snapshot(trials, arms={"baseline": {}, "wide": {"width": 512}}, resolved=document(seeds=(1, 2, 3)))
    (row,) = rows(build(view), "divergence")
    assert (row["diverged"], row["trials"], row["n"], row["n_all"]) == (1, 3, 2, 3)
    low, high = stats.binomtest(1, 3).proportion_ci(method="wilson")
    assert (row["rate_low"], row["rate_high"]) == pytest.approx((low, high))
    assert row["delta"] == pytest.approx(-0.105)
    assert row["delta_all"] == pytest.approx((-0.11 - 0.10 + 9.9 - 6.03) / 3)


@pytest.mark.parametrize(("count", "total"), [(0, 3), (1, 3), (3, 3), (7, 50)])
def test_rates_have_wilsons_interval(count: int, total: int) -> None:
    oracle = stats.binomtest(count, total).proportion_ci(method="wilson")
    assert wilson(count, total) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


def test_planted_components_of_variance_are_recovered() -> None:
    random = np.random.default_rng(2)
    arms = []
    for _ in range(40):
        means = random.normal(0, 2.0, 8)
        arms.append({seed: (mean + random.normal(0, 3.0, 4)).tolist() for seed, mean in enumerate(means)})
    spread = spread_of(arms)
    assert spread.pretraining == pytest.approx(2.0, abs=0.3)
    assert spread.fine_tuning == pytest.approx(3.0, abs=0.3)


def test_the_hierarchical_bootstrap_is_too_narrow_for_few_seeds_where_students_t_is_not() -> None:
    random = np.random.default_rng(4)
    held = {"bootstrap": 0, "student": 0}
    tables = 300
    for _ in range(tables):
        arms = [{seed: random.normal(random.normal(), 1.0, 2).tolist() for seed in range(3)} for _ in range(2)]
        low, high = hierarchical_bootstrap(*arms, 0.95)
        means = [{seed: fmean(values) for seed, values in arm.items()} for arm in arms]
        student = paired(*means)
        assert student.low is not None
        assert student.high is not None
        held["bootstrap"] += low <= 0 <= high
        held["student"] += student.low <= 0 <= student.high
    assert held["student"] / tables >= 0.93 > held["bootstrap"] / tables


def test_a_task_of_low_variance_is_marked() -> None:
    random = np.random.default_rng(6)
    trials = []
    for arm in ("baseline", "wide"):
        for seed in (1, 2, 3, 4):
            trial = Trial(arm, seed).pretrained(6.0 + random.normal() / 50)
            for task, sd in (("docs_pair", 0.1), ("docs_answer", 2.0), ("docs_acceptability", 2.0)):
                for tuning in (1, 2):
                    trial.tuned(task, tuning, **{primary(task): 60 + float(random.normal(0, sd))})
            trials.append(trial)
    tasks = ("docs_acceptability", "docs_answer", "docs_pair")
    resolved = document(tasks, (1, 2, 3, 4))
    table_rows = rows(
        build(snapshot(trials, {"baseline": {}, "wide": {"width": 512}}, tasks, resolved=resolved)), "noise"
    )
    marks = {row["metric"]: row["low_variance"] for row in table_rows}
    assert marks == {"held_out_loss": None, "score": None, **dict.fromkeys(tasks, False), "docs_pair": True}


def test_an_undecided_arm_has_a_number_of_seeds_to_decide() -> None:
    trials = [Trial("baseline", seed).pretrained(6.0) for seed in (1, 2, 3)]
    trials += [Trial("wide", seed).pretrained(6.0 + x) for seed, x in ((1, -0.1), (2, -0.3), (3, 0.05))]
    view = snapshot(trials, arms={"baseline": {}, "wide": {"width": 512}}, resolved=document(seeds=(1, 2, 3)))
    (row,) = rows(build(view), "effects")
    sd = float(np.std([-0.1, -0.3, 0.05], ddof=1))
    assert (row["verdict"], row["p_exact"]) == ("undecided", 0.5)
    needed, effect = row["seeds_to_decide"], 0.35 / 3
    assert isinstance(needed, int)
    for seeds, enough in ((needed, True), (needed - 1, False)):
        bar, shift = stats.t.ppf(0.975, seeds - 1), effect / sd * seeds**0.5
        assert (stats.nct.sf(bar, seeds - 1, shift) >= 0.8 - 2e-3) is np.bool_(enough) or not enough
