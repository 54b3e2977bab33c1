"""MLflow's pages: metrics that comparisons start with, names of curves, and the saved views of arms and trials."""

from dataclasses import replace
from itertools import count

from runners.tracking import TrackingStore, mirror
from steeplechase.ledger.records import TrialStatus
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.mlflow_rows import rows, statuses, values_of_tag
from tests.factories.tracked_study import pretrained, study


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
