"""Arms at the shared recipe and at their own: two columns and two families, the first independent of tuning."""

from dataclasses import replace

import numpy as np
import pytest

from reports.report import build
from reports.statistics.metrics import Metric
from reports.views import at_own_recipes, own_results, shared_results
from steeplechase.analysis.two_way_variance import two_way_estimate
from steeplechase.ledger.example_tables import ExampleTable, Replicate
from steeplechase.ledger.records import final_loss_of
from steeplechase.ledger.snapshot import Snapshot, Tuning
from tests.factories.read_reports import rows_of
from tests.factories.reports import TUNED_RATES, primary, tuned


def tuning_of(view: Snapshot) -> Tuning:
    assert view.tuning is not None
    return view.tuning


def test_the_tables_at_the_shared_recipe_are_those_of_the_same_trials_without_tuning() -> None:
    full = tuned()
    own = {arm.name for arm in full.arms if arm.tuned_from is not None}
    without = replace(
        full,
        arms=tuple(arm for arm in full.arms if arm.name not in own),
        histories=tuple(one for one in full.histories if one.trial.arm not in own),
        tuning=None,
    )
    with_tuning, plain = build(full, primary=primary), build(without, primary=primary)
    extra = {"tuned", "own_recipe", "tuning"}
    assert [table for table in with_tuning.tables if table.name not in extra] == list(plain.tables)
    assert {table.name for table in with_tuning.tables} - {table.name for table in plain.tables} == extra
    assert with_tuning.finding.startswith(plain.finding)
    assert with_tuning.pictures == plain.pictures


def test_both_differences_are_those_of_their_own_tables_and_families() -> None:
    view = tuned()
    report = build(view, primary=primary)
    shared, own = shared_results(view, primary), own_results(view, primary)
    assert own is not None
    assert rows_of(report, "tuned")
    for row in rows_of(report, "tuned"):
        for side, results in (("shared", shared), ("own", own)):
            metric = Metric(row["metric"])
            difference, compared = (
                results.effect(row["arm"], metric).difference,
                results.comparison(row["arm"], metric),
            )
            text = [row[f"{side}_{part}"] for part in ("n", "delta", "low", "high", "p_adjusted", "verdict")]
            parts = (difference.n, difference.delta, difference.low, difference.high)
            assert text == [*parts, compared.p_adjusted, str(compared.verdict)]
    assert len(shared.families[0]) == len(own.families[0]) == 2
    assert any(row["shared_p_adjusted"] != row["own_p_adjusted"] for row in rows_of(report, "tuned"))


def test_an_arm_at_its_own_recipe_is_compared_with_the_baseline_at_its_own() -> None:
    view = tuned()
    values = {arm.name: [final_loss_of(one.records[-1]) or 0.0 for one in view.of_arm(arm.name)] for arm in view.arms}
    pairs = {"narrow": ("narrow", "baseline@own"), "dynamic": ("dynamic@own", "baseline@own")}
    for row in rows_of(build(view, primary=primary), "tuned"):
        mine, its = (values[name] for name in pairs[row["arm"]])
        assert row["own_delta"] == pytest.approx(sum(a - b for a, b in zip(mine, its, strict=True)) / len(mine))


def test_the_measured_values_have_the_trials_of_both_recipes_once() -> None:
    view = tuned()
    rows = [row for row in build(view, primary=primary).trials.rows if row["metric"] == "held_out_loss"]
    measured = {
        (one.trial.arm, one.trial.seed): final_loss_of(one.records[-1]) for one in view.histories if one.records
    }
    assert {(row["arm"], row["seed"]): row["value"] for row in rows} == measured
    assert len(rows) == len(measured)


def test_claims_are_about_arms_at_their_own_recipes_and_are_said_once() -> None:
    view = tuned()
    arm = next(choice.arm for choice in tuning_of(view).choices if choice.point and choice.arm != "baseline")
    claims = [f"held_out_loss({arm}) < held_out_loss(baseline)"]
    report = build(replace(view, document={**view.document, "claims": claims}), primary=primary)
    (claim,) = (row for row in rows_of(report, "claims") if row["by"] == "experiment")
    (both,) = (row for row in rows_of(report, "tuned") if (row["arm"], row["metric"]) == (arm, "held_out_loss"))
    assert claim["delta"] == both["own_delta"] != both["shared_delta"]
    assert report.finding.count("claim of the experiment") == 1


def test_arms_at_own_recipes_are_not_marked_as_added_after_results() -> None:
    view = tuned()
    planned_late = tuple(replace(arm, after_record=7 if arm.tuned_from else 0) for arm in view.arms)
    own = at_own_recipes(replace(view, arms=planned_late))
    assert own is not None
    assert [arm.after_record for arm in own.arms] == [0, 0, 0]


def kept(view: Snapshot) -> dict[str, ExampleTable]:
    """Return held-out losses whose means are those of the trials, with another spread in every arm of the ledger."""
    random, replicates, values = np.random.default_rng(1), [], []
    for spread, arm in enumerate(view.arms, start=1):
        for history in view.of_arm(arm.name):
            noise = random.normal(0, 0.2 * spread, 40)
            replicates.append(Replicate(arm.name, history.trial.seed))
            values.append((final_loss_of(history.records[-1]) or 0.0) + noise - noise.mean())
    return {"held_out_loss": ExampleTable("held_out_loss", tuple(replicates), np.array(values, np.float32))}


def test_both_intervals_are_over_the_examples_of_the_models_compared() -> None:
    """Without the examples of its own recipe an arm that keeps the shared one would have two intervals."""
    view = tuned()
    tables = kept(view)
    table = tables["held_out_loss"]
    report = build(view, primary, tables)
    pairs = {"narrow": ("narrow", "baseline@own"), "dynamic": ("dynamic@own", "baseline@own")}
    for row in rows_of(report, "tuned"):
        first, second = pairs[row["arm"]]
        samples = [table.of_arm(first).values.astype(float), -table.of_arm(second).values.astype(float)]
        over = two_way_estimate([sample.mean(axis=1) for sample in samples], [samples])
        (low,), (high,) = over.interval()
        assert row["own_high"] - row["own_low"] >= (high - low) * (1 - 1e-6)
        shown = [row["own_low"], row["own_high"]]
        alone = next(one for one in rows_of(build(view, primary=primary), "tuned") if one["arm"] == row["arm"])
        assert shown == pytest.approx([low, high], rel=1e-3) or shown == [alone["own_low"], alone["own_high"]]
    own = own_results(view, primary, tables)
    assert own is not None
    assert {one.arm for one in own.example_tables["held_out_loss"].replicates} == {"baseline", "narrow", "dynamic"}


def test_a_selection_at_the_edge_has_a_warning_and_one_inside_has_none() -> None:
    view = tuned()
    tuning = tuning_of(view)
    numbers = list(tuning.tried.values("recipe.peak_learning_rate"))
    for point, rate in enumerate(numbers):
        choices = tuple(choice.model_copy(update={"point": point}) for choice in tuning.choices)
        report = build(replace(view, tuning=replace(tuning, choices=choices)), primary=primary)
        edges = [row["edge"] for row in rows_of(report, "tuning") if row["chosen"] and row["value"] is not None]
        warned = any(note.startswith("Warning: selected at the edge") for note in report.notes)
        end = {min(numbers): ", the smallest", max(numbers): ", the largest"}.get(rate)
        assert warned is (end is not None)
        assert set(edges) == {f"peak_learning_rate {rate:g}{end}" if end else None}


def test_zero_is_not_an_edge_of_the_tried_range() -> None:
    tuning = tuning_of(tuned())
    lost = tuple(
        choice.model_copy(update={"point": 0, "values": (None,) * len(choice.values), "own": choice.arm})
        for choice in tuning.choices
    )
    report = build(replace(tuned(), tuning=replace(tuning, choices=lost)), primary=primary)
    assert not any(note.startswith("Warning") for note in report.notes)
    assert any("narrow diverged at every point" in note for note in report.notes)


def test_before_the_selection_there_is_one_column_and_no_finding_at_own_recipes() -> None:
    view = tuned()
    open_ = replace(view, tuning=replace(tuning_of(view), choices=()), arms=view.arms[:3])
    report = build(open_, primary=primary)
    assert "own recipe" not in report.finding
    assert all(row["own_delta"] is None and row["own_verdict"] is None for row in rows_of(report, "tuned"))
    assert all(row["value"] is None and row["chosen"] is None for row in rows_of(report, "tuning"))


def test_every_arm_has_a_row_for_each_point_and_one_is_selected() -> None:
    view = tuned()
    table_rows = rows_of(build(view, primary=primary), "tuning")
    assert len(table_rows) == 3 * len(TUNED_RATES)
    for choice in tuning_of(view).choices:
        mine = [row for row in table_rows if row["arm"] == choice.arm]
        assert [row["value"] for row in mine] == list(choice.values)
        assert [row["point"] for row in mine if row["chosen"]] == [choice.point]
