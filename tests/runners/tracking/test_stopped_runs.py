"""What MLflow shows of a stopped trial and of a search's candidates."""

from dataclasses import replace

from runners.tracking.measurements import curve_points, last_rung
from runners.tracking.runs import projected
from steeplechase.ledger.records import final_loss_of
from steeplechase.ledger.stage_results import FineTuneResult
from tests.factories.tracked_study import LABELS, study


def test_a_search_shows_what_varies_the_last_rung_and_the_settings() -> None:
    whole = study(arms=6, seeds=(2, 3))
    resolved = {**whole.document, "design": {"kind": "search", "space": {}}}
    view = replace(whole, document=resolved, manifest={"settings": ["pretraining.tokens=8192"]})
    found = {run.identity.partition("/")[2]: run for run in projected(view, ())}
    arm, trial = found["span-dynamic"], found["span-dynamic/2"]
    assert arm.name == "span-dynamic: architecture.convolution span_dynamic"
    assert trial.name == "span-dynamic/2: architecture.convolution span_dynamic"
    assert found["baseline/2"].name == "baseline/2"
    assert (arm.tags["standing"], arm.tags["settings"]) == ("stopped at hurdle 1", "pretraining.tokens=8192")
    values = {point.key: point.value for point in trial.points if point.key.startswith("last_rung/")}
    history = next(each for each in view.histories if each.trial.name == "span-dynamic/2")
    assert values == {
        "last_rung/held_out_loss": final_loss_of(history.records[0]),
        "last_rung/tokens": 500_000,
    }
    assert {point.key for point in arm.points} >= {"last_rung/held_out_loss", "last_rung/held_out_loss/n"}
    compared = {point.key: point.value for point in found["depthwise"].points}
    assert (
        compared["delta/held_out_loss/low"] < compared["delta/held_out_loss"] < compared["delta/held_out_loss/high"]
    )
    assert "held_out_loss -0.12 [" in found["depthwise"].tags["difference"]


def test_a_probe_is_a_curve_and_a_value_of_the_last_rung() -> None:
    (history,) = study(arms=5, seeds=(2,)).histories[4:]
    score = FineTuneResult(task="docs_answer", seed=1, scores={"f1": 30.123456789}, examples=10)
    probe = replace(history.records[0], stage="probe", label="probe@500000", result=score, sequence=99)
    history = replace(history, records=(*history.records, probe))
    points = {(point.key, point.step): point.value for point in curve_points(history, LABELS)}
    assert points["probe_score_by_tokens", 500_000] == 30.123456789
    assert last_rung(history)["last_rung/probe_score"].value == 30.123456789
