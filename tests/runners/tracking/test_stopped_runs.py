"""What MLflow shows of a stopped trial and of a search's candidates."""

from dataclasses import replace
from itertools import count

from runners.tracking import TrackingStore, mirror
from runners.tracking.measurements import curve_points
from runners.tracking.runs import projected
from steeplechase.ledger.stage_results import FineTuneResult
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.mlflow_rows import rows, statuses
from tests.factories.tracked_study import LABELS, pretrained, study


def test_a_search_shows_what_varies_and_the_settings() -> None:
    whole = study(arms=6, seeds=(2, 3))
    resolved = {**whole.document, "design": {"kind": "search", "space": {}}}
    view = replace(whole, document=resolved, manifest={"settings": ["pretraining.tokens=8192"]})
    found = {run.identity.partition("/")[2]: run for run in projected(view)}
    arm, trial = found["span-dynamic"], found["span-dynamic/2"]
    assert arm.name == "span-dynamic: architecture.convolution span_dynamic"
    assert trial.name == "span-dynamic/2: architecture.convolution span_dynamic"
    assert found["baseline/2"].name == "baseline/2"
    assert (arm.tags["standing"], arm.tags["settings"]) == ("stopped at hurdle 1", "pretraining.tokens=8192")


def test_a_probe_is_a_curve() -> None:
    (history,) = study(arms=5, seeds=(2,)).histories[4:]
    score = FineTuneResult(task="docs_answer", seed=1, scores={"f1": 30.123456789}, examples=10)
    probe = replace(history.records[0], stage="probe", label="probe@500000", result=score, sequence=99)
    history = replace(history, records=(*history.records, probe))
    points = {(point.key, point.step): point.value for point in curve_points(history, LABELS)}
    assert points["probe_score_by_tokens", 500_000] == 30.123456789


def test_curves_of_the_audit_have_names_of_their_own(store: TrackingStore) -> None:
    whole = study(arms=6, seeds=(2,))
    histories = tuple(_audited(one) if one.stopped_by else one for one in whole.histories)
    mirror(replace(whole, histories=histories), store)
    query = (
        "SELECT key, min(step), max(step), count(*) FROM metrics JOIN runs USING (run_uuid) "
        "WHERE name = 'span-dynamic/2' GROUP BY key"
    )
    curves = {key: numbers for key, *numbers in rows(store.database_file, query)}
    assert curves["held_out_loss_by_tokens"] == [125_000, 500_000, 4]
    assert curves["audit/held_out_loss_by_tokens"] == [625_000, 1_000_000, 4]
    assert curves["audit/train_loss_by_tokens"][1] > 990_000
    assert statuses(store.database_file)["span-dynamic/2"] == "FINISHED"
    assert "final/held_out_loss" not in curves


def _audited(history: TrialHistory) -> TrialHistory:
    return replace(history, audit=(pretrained(history.trial.name, 1, 5.0, count(1000)),))
