"""The mirror has every row of the ledger once, is idempotent, and has views of arms and trials."""

import math
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from runners.tracking import TrackingStore, mirror
from runners.tracking.measurements import curve_points, last_rung
from runners.tracking.mirrored_run import IDENTITY_TAG, LEVEL_TAG
from runners.tracking.runs import projected
from steeplechase.ledger.records import TrialStatus, final_loss_of
from steeplechase.ledger.sessions import Session
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import FineTuneResult, PretrainResult
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.mlflow_rows import everything, rows, statuses, values_of_tag
from tests.factories.tracked_study import LABELS, arm_row, pretrained, still_running, study


def test_a_second_mirror_writes_nothing(mirrored_results: Path) -> None:
    database = mirrored_results / "mlflow.db"
    before, written = everything(database), database.stat().st_mtime_ns
    artifacts = {path: path.stat().st_mtime_ns for path in (mirrored_results / "artifacts").rglob("*")}
    summary = mirror(study(), TrackingStore.resolve(mirrored_results, None, {}), [mirrored_results / "report.md"])
    assert (summary.created, summary.updated, summary.unchanged) == (0, 0, 25)
    assert everything(database) == before
    assert database.stat().st_mtime_ns == written
    assert {path: path.stat().st_mtime_ns for path in (mirrored_results / "artifacts").rglob("*")} == artifacts


def test_trials_are_children_of_arms_and_arms_of_the_study(mirrored_results: Path) -> None:
    pairs = rows(
        mirrored_results / "mlflow.db",
        "SELECT child.name, parent.name FROM runs AS child JOIN tags ON tags.run_uuid = child.run_uuid "
        "JOIN runs AS parent ON parent.run_uuid = tags.value WHERE tags.key = 'mlflow.parentRunId'",
    )
    arms = {arm_row(position).name for position in range(6)}
    expected = {(name, "table2-laptop") for name in arms} | {
        (f"{arm}/{seed}", arm) for arm in arms for seed in (1, 2, 3)
    }
    assert set(pairs) == expected
    assert len(pairs) == len(expected)


def test_the_status_of_a_run_is_that_of_the_trial(mirrored_results: Path) -> None:
    database = mirrored_results / "mlflow.db"
    assert Counter(statuses(database).values()) == {"FINISHED": 1 + 5 + 15 + 2, "FAILED": 1 + 1}
    reasons = values_of_tag(database, "stop_reason")
    assert reasons["span-dynamic/1"] == "diverged in pretrain@500000: tokens 312320, loss nan"
    assert reasons["span-dynamic/2"] == "hurdle 1: 5.71 against 5.2"
    assert values_of_tag(database, "trials")["span-dynamic"] == "2 stopped, 1 diverged"
    stopped = {name for name, text in values_of_tag(database, "standing").items() if text == "stopped at hurdle 1"}
    assert stopped == {"span-dynamic/2", "span-dynamic/3"}


def test_curves_are_over_tokens_and_thinned(mirrored_results: Path) -> None:
    query = (
        "SELECT key, count(*), min(step), max(step) FROM metrics JOIN runs USING (run_uuid) WHERE name = 'baseline/1'"
    )
    curves = {key: numbers for key, *numbers in rows(mirrored_results / "mlflow.db", f"{query} GROUP BY key")}
    assert curves["held_out_loss_by_tokens"] == [8, 125_000, 1_000_000]
    count, first, last = curves["train_loss_by_tokens"]
    assert 100 < int(count) <= 200
    assert (first, last) == (1024, 999_712)


def test_a_study_is_known_by_what_its_ledger_has_drawn(store: TrackingStore) -> None:
    one, other = (replace(study(arms=2, seeds=(1,)), drawn_identity=drawn) for drawn in ("one", "other"))
    assert [mirror(each, store).created for each in (one, other, one, other)] == [5, 5, 0, 0]


def test_a_continued_study_updates_its_runs(store: TrackingStore) -> None:
    whole = study(arms=2, seeds=(1, 2))
    mirror(still_running(whole), store)
    assert statuses(store.database_file)["depthwise/1"] == "RUNNING"
    assert statuses(store.database_file)["depthwise/2"] == "SCHEDULED"
    summary = mirror(whole, store)
    assert (summary.created, summary.updated, summary.unchanged) == (0, 7, 0)  # the score is known now
    assert set(statuses(store.database_file).values()) == {"FINISHED"}
    identities = values_of_tag(store.database_file, IDENTITY_TAG)
    assert len(identities) == len(set(identities.values())) == 7


LIMITED = Session("run", "2026-01-02T03:04:05+00:00", {}, 60.0, "--stop-after 1m")


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        (LIMITED, "--stop-after 1m; the same command with a higher limit resumes it"),
        (
            replace(LIMITED, stopped_by=None, interruption="interrupted"),
            "interrupted; the same command resumes it",
        ),
    ],
    ids=["limit", "interruption"],
)
def test_a_study_that_was_stopped_has_ended_and_its_resumption_doubles_nothing(
    store: TrackingStore, session: Session, reason: str
) -> None:
    whole, database = study(arms=2, seeds=(1, 2)), store.database_file
    stopped = replace(still_running(whole), sessions=(session,))
    mirror(stopped, store)
    interrupted = {"table2-laptop", "depthwise", "depthwise/1"}
    found, standing = statuses(database), values_of_tag(database, "standing")
    assert {name for name, status in found.items() if status == "KILLED"} == interrupted
    assert found["depthwise/2"] == "SCHEDULED"  # no stage of it has begun
    assert {name for name, text in standing.items() if text == "incomplete"} == interrupted
    assert values_of_tag(database, "stop_reason") == dict.fromkeys(interrupted, reason)
    resumed = replace(stopped, sessions=(replace(session, stopped_by=None, interruption=None),))
    mirror(resumed, store)  # no stage of the new session has ended yet
    assert {name for name, status in statuses(database).items() if status == "RUNNING"} == interrupted
    assert values_of_tag(database, "stop_reason") == {}
    ended = replace(whole, sessions=(session,))
    mirror(ended, store)
    assert set(statuses(database).values()) == {"FINISHED"}
    identities = values_of_tag(database, IDENTITY_TAG)
    assert len(identities) == len(set(identities.values())) == len(rows(database, "SELECT * FROM runs")) == 7
    assert mirror(ended, store).unchanged == 7


def test_what_a_study_leaves_out_is_closed_and_on_no_page_until_it_comes_back(store: TrackingStore) -> None:
    mirror(still_running(study(arms=2, seeds=(1, 2))), store)
    for _ in range(2):
        mirror(study(arms=1, seeds=(1, 2)), store)
        assert statuses(store.database_file)["depthwise/1"] == "KILLED"
        levels = values_of_tag(store.database_file, LEVEL_TAG)
        assert (levels["depthwise"], levels["depthwise/1"]) == ("hidden arm", "hidden trial")
        assert (levels["baseline"], levels["baseline/1"]) == ("arm", "trial")
    mirror(study(arms=2, seeds=(1, 2)), store)
    assert values_of_tag(store.database_file, LEVEL_TAG)["depthwise/1"] == "trial"


def test_a_value_that_is_not_finite_is_a_tag_and_never_a_metric(store: TrackingStore) -> None:
    mirror(_with_odd_values(study(arms=1, seeds=(1,))), store)
    told = values_of_tag(store.database_file, "non_finite")["baseline/1"]
    assert "train_loss_by_tokens at 2048 tokens: nan" in told
    assert "accuracy of docs_pair#2: inf" in told
    shown = rows(store.database_file, "SELECT key, value, is_nan FROM metrics")
    assert all(not is_nan and math.isfinite(value) and abs(value) < 1e300 for _, value, is_nan in shown)
    assert "task/docs_answer/f1" in {key for key, *_ in shown}
    assert "task/docs_pair/accuracy" not in {key for key, *_ in shown}  # one of two seeds is no mean over both


def test_a_changed_report_replaces_the_attached_one(store: TrackingStore, tmp_path: Path) -> None:
    snapshot, report = study(arms=1, seeds=(1,)), tmp_path / "report.md"
    for text in ("first", "second"):
        report.write_text(text)
        mirror(snapshot, store, [report])
    attached = list(store.artifacts.rglob("report.md"))
    assert [path.read_text() for path in attached] == ["second"]


def _with_odd_values(snapshot: Snapshot) -> Snapshot:
    (history,) = snapshot.histories
    pretrain, tuned = history.records[0], history.records[LABELS.index("docs_pair#2")]
    assert isinstance(pretrain.result, PretrainResult)
    assert isinstance(tuned.result, FineTuneResult)
    curve = ((1024, 9.0), (2048, math.nan), (3072, -math.inf), (4096, 8.0))
    odd = {
        pretrain.label: replace(pretrain, result=pretrain.result.model_copy(update={"train_curve": curve})),
        tuned.label: replace(tuned, result=tuned.result.model_copy(update={"scores": {"accuracy": math.inf}})),
    }
    records = tuple(odd.get(record.label, record) for record in history.records)
    return replace(snapshot, histories=(replace(history, records=records),))


def test_an_arm_shows_how_its_loss_differs_from_the_baselines(mirrored_results: Path) -> None:
    query = (
        "SELECT runs.name, latest_metrics.key, value FROM latest_metrics JOIN runs USING (run_uuid) "
        "WHERE latest_metrics.key LIKE 'delta/%'"
    )
    found: dict[str, dict[str, float]] = {}
    for name, key, value in rows(mirrored_results / "mlflow.db", query):
        found.setdefault(name, {})[key] = value
    expected = {"delta/held_out_loss": -0.12, "delta/held_out_loss/n": 3, "delta/held_out_loss/sd": 0}
    assert {key: found["depthwise"][key] for key in expected} == pytest.approx(expected, abs=1e-6)
    assert found["depthwise"]["delta/score"] == pytest.approx(0.02)
    assert found.keys() == {"depthwise", "lightweight", "dynamic", "span-dynamic-k13"}


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


def test_single_values_are_sent_once_over_repeated_mirrors(store: TrackingStore) -> None:
    whole = study(arms=2, seeds=(1, 2))
    for records in range(6):
        histories = tuple(
            replace(one, records=one.records[:records], decisions=(), status=TrialStatus.RUNNING)
            for one in whole.histories
        )
        mirror(replace(whole, histories=histories), store)
    mirror(whole, store)
    singles = "SELECT run_uuid, key, count(*) FROM metrics WHERE step = 0 GROUP BY run_uuid, key"
    counts = rows(store.database_file, singles)
    assert {key for _, key, _ in counts} >= {"final/held_out_loss", "final/score", "task/docs_pair/accuracy"}
    assert {count for *_, count in counts} == {1}


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
    assert values_of_tag(store.database_file, "audit") == {
        "span-dynamic/2": "trained on past its stop to 1000000 tokens: held-out loss 5.034"
    }
    assert statuses(store.database_file)["span-dynamic/2"] == "FINISHED"
    assert "final/held_out_loss" not in curves


def _audited(history: TrialHistory) -> TrialHistory:
    return replace(history, audit=(pretrained(history.trial.name, 1, 5.0, count(1000)),))
