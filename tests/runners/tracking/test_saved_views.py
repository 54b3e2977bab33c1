"""MLflow's pages: metrics that comparisons start with, names of curves, and the saved views of arms and trials."""

import base64
import json
import zlib
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from runners.tracking import TrackingStore, mirror
from steeplechase.ledger.records import TrialStatus
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.mlflow_rows import rows, statuses, values_of_tag
from tests.factories.tracked_study import pretrained, still_running, study


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


def test_comparisons_start_with_a_loss(store: TrackingStore) -> None:
    """The page selects the first metric that all selected runs have, in the order of transmission."""
    whole = study(arms=2, seeds=(1, 2))
    mirror(still_running(whole), store)
    mirror(whole, store)
    for level in ("arm", "trial"):
        sent = "SELECT runs.name, latest_metrics.key FROM latest_metrics JOIN runs USING (run_uuid) JOIN tags USING"
        where = f"WHERE tags.key = 'level' AND tags.value = '{level}' ORDER BY latest_metrics.rowid"
        firsts: dict[str, str] = {}
        for name, key in rows(store.database_file, f"{sent} (run_uuid) {where}"):
            firsts.setdefault(name, key)
        assert firsts
        assert all("held_out_loss" in key for key in firsts.values())
        named = {min(key for key in keys) for keys in _keys_by_run(store, level).values()}
        assert all("held_out_loss" in key for key in named)


def _keys_by_run(store: TrackingStore, level: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    query = (
        "SELECT runs.name, latest_metrics.key FROM latest_metrics JOIN runs USING (run_uuid) JOIN tags USING "
        f"(run_uuid) WHERE tags.key = 'level' AND tags.value = '{level}'"
    )
    for name, key in rows(store.database_file, query):
        found.setdefault(name, set()).add(key)
    return found


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


def test_there_are_saved_views_of_arms_and_trials(mirrored_results: Path) -> None:
    views = _views(mirrored_results)
    assert {name for name, _ in views.values()} == {"Arms", "Trials by arm"}
    state = views["arms"][1]
    assert state["searchFilter"] == 'tags.level = "arm"'
    shown = ["final/held_out_loss", "delta/held_out_loss", "final/score", "delta/score", "size/parameters"]
    assert state["selectedColumns"] == [
        *(f"metrics.`{key}`" for key in shown),
        "tags.`standing`",
        "tags.`difference`",
    ]
    for _, one in views.values():
        columns = one["selectedColumns"]
        assert one["columnOrder"][-len(columns) :] == columns
        assert not [column for column in columns if column.endswith(("/n`", "/sd`"))]


def test_the_range_of_the_charts_contains_every_held_out_loss_and_not_0(mirrored_results: Path) -> None:
    losses = [
        value
        for (value,) in rows(
            mirrored_results / "mlflow.db",
            "SELECT value FROM metrics JOIN runs USING (run_uuid) "
            "WHERE key = 'held_out_loss_by_tokens' AND status != 'FAILED'",
        )
    ]
    charts = {card["metricKey"]: card for card in _views(mirrored_results)["trials"][1]["compareRunCharts"]}
    assert charts.keys() == {"held_out_loss_by_tokens", "train_loss_by_tokens"}
    for chart in charts.values():
        span = chart["range"]
        assert 0 < span["yMin"] < min(losses) < max(losses) < span["yMax"]
        assert span["yMax"] - span["yMin"] < 1.2 * (max(losses) - min(losses))


def _views(results: Path) -> dict[str, tuple[str, Any]]:
    tags = dict(rows(results / "mlflow.db", "SELECT key, value FROM experiment_tags"))
    assert all(len(value) < 20_000 for value in tags.values())  # MLflow's limit
    found = {}
    for key in ("arms", "trials"):
        view = json.loads(tags[f"mlflow.sharedViewState.{key}"])
        packed = view["state"].removeprefix("deflate;")
        found[key] = (view["name"], json.loads(zlib.decompress(base64.b64decode(packed))))
    return found
