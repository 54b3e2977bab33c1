"""Comparisons that cannot show anything: equal arms, metrics without a value, answers outside contexts; costs."""

import json
from dataclasses import replace

from reports.formats import render
from reports.number_format import sentence_of
from reports.report import Report, build
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import Trial, document, shared, snapshot
from tests.factories.stage_results import SQUAD_PART

ARMS = {"baseline": {}, "wide": {"width": 512}, "deep": {"depth": 6}}
REASON = "all 9 examples have the label 'a'"


def report(losses: dict[str, tuple[float, float]]) -> Report:
    """Return the report of arms with these final losses at two seeds."""
    trials = [Trial(arm, seed).pretrained(loss) for arm, each in losses.items() for seed, loss in enumerate(each, 1)]
    return build(snapshot(trials, arms=ARMS, resolved=document(seeds=(1, 2))))


def test_an_arm_with_the_baselines_values_is_named_with_what_it_changes() -> None:
    said = "arm wide and the baseline have equal values in every seed: width has no effect"
    built = report({"baseline": (6.0, 6.1), "wide": (6.0, 6.1), "deep": (6.0, 6.2)})
    assert sentence_of(said) in built.finding
    assert dict(built.footer)["Equal arms"] == said
    assert "equal values" not in report({"baseline": (6.0, 6.1), "wide": (6.0, 6.2), "deep": (5.0, 6.1)}).finding


def test_equal_scores_alone_are_no_proof_that_a_change_has_no_effect() -> None:
    score = {"task": "rte", "seed": 1, "examples": 9, "scores": {"accuracy": 50.0}, "constant": True}
    trials = [Trial(arm, seed).record("fine_tune", "rte#1", score) for arm in ("baseline", "wide") for seed in (1, 2)]
    arms = {name: ARMS[name] for name in ("baseline", "wide")}
    view = snapshot(trials, arms=arms, tasks=("rte",), tuning_seeds=(1,), resolved=document(("rte",), seeds=(1, 2)))
    said = dict(build(view, primary=lambda task: "accuracy").footer)["Equal arms"]
    assert said.endswith("scores count examples, so that this is no proof that width has no effect")


def undefined(tasks: tuple[str, ...]) -> Report:
    """Return the report of two arms on tasks, of which the last one's metric has no value."""
    trials = []
    for arm in ("baseline", "wide"):
        for seed in (1, 2):
            trial = Trial(arm, seed).pretrained(6.0 + seed / 100)
            for number, task in enumerate(tasks, start=1):
                result = {"task": task, "seed": 1, "examples": 9, "scores": {"accuracy": 90.0 + seed}}
                absent = {"scores": {}, "without_value": {"accuracy": REASON}, "constant": True}
                trial.record("fine_tune", f"{task}#1", result | absent if number == len(tasks) else result)
            trials.append(trial)
    arms = {name: ARMS[name] for name in ("baseline", "wide")}
    view = snapshot(trials, arms=arms, tasks=tasks, tuning_seeds=(1,), resolved=document(tasks, seeds=(1, 2)))
    return build(view, primary=lambda task: "accuracy")


def test_a_metric_without_a_value_has_a_reason_and_no_number_in_any_form() -> None:
    built = undefined(("rte", "wnli"))
    said = f"on wnli accuracy has no value: {REASON}, in dev"
    assert sentence_of(said) in built.finding
    assert dict(built.footer)["Metrics without a value"] == said
    assert "Collapsed fine-tunings" not in dict(built.footer)
    assert "no value" in render(built, "markdown")
    values = {row["metric"]: row["mean"] for row in rows_of(built, "results")}
    assert values["score"] == values["rte"]  # the other task alone
    assert values["wnli"] is None
    assert sentence_of(said) in json.loads(render(built, "json"))["finding"]


def test_equal_predictions_are_told_beside_a_metric_of_a_users_own_that_they_leave_without_a_value() -> None:
    found = {"task": "rte", "seed": 1, "examples": 9, "scores": {"accuracy": 50.0}, "constant": True}
    trials = [
        Trial("baseline", seed).record("fine_tune", "rte#1", {**found, "without_value": {"own": REASON}})
        for seed in (1, 2)
    ]
    view = snapshot(trials, arms={"baseline": {}}, tasks=("rte",), tuning_seeds=(1,), resolved=document(("rte",)))
    said = dict(build(view, primary=lambda task: "accuracy").footer)["Collapsed fine-tunings"]
    assert said == "constant predictions: baseline on rte in 2 of 2 fine-tunings"


def test_answers_outside_their_contexts_are_told() -> None:
    part = {**SQUAD_PART, "answers_misplaced_in_file": 30, "file": "train-v1.1.json"}
    record = shared(
        "examples",
        "examples squad_v1_1",
        {"task": "squad_v1_1", "chance": None, "bag_of_words": None, "train": part, "dev": {**SQUAD_PART}},
    )
    view = snapshot([Trial("baseline", 1).pretrained(6.0)], arms={"baseline": {}}, resolved=document())
    built = build(replace(view, shared=(*view.shared, record)))
    assert "30 answers of train-v1.1.json do not stand in their contexts" in built.finding


def test_claims_about_costs_are_true_or_false() -> None:
    claims = ["parameters(wide) < parameters(baseline) by 1000", "train_flops(wide) < train_flops(baseline)"]
    trials = [Trial(arm, seed).pretrained(6.0 + seed / 9) for arm in ("baseline", "wide") for seed in (1, 2)]
    arms = {name: ARMS[name] for name in ("baseline", "wide")}
    built = build(snapshot(trials, arms=arms, resolved=document(seeds=(1, 2)) | {"claims": claims}))
    assert [row["verdict"] for row in rows_of(built, "claims")] == ["as stated here", "opposite here"]
    claims_shown = grid_of(built, "claims")
    assert claims_shown.intervals == 0  # no estimates of a difference
    assert [row[-1].text for row in claims_shown.rows] == ["−300000", "0"]
    assert "as stated here" in built.finding
    assert "opposite here" in built.finding
