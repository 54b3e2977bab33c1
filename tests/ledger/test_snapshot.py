"""A trial's status is a function of the rows; the latest of a label counts, and the first fine-tuning."""

import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.statistics.trial_status import status_of
from runners.dag import shared_stages
from runners.opening import RunRequest, open_ledger
from runners.scheduling.rows import rows_of
from runners.scheduling.state import RunState
from runners.search.history import SearchHistory
from runners.tracking.mirrored_run import stop_reason
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.checkpoints import tuned_trials
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import Decision, Record, Status, TrialRow, TrialStatus
from steeplechase.ledger.snapshot import snapshot
from steeplechase.ledger.trial_history import first_fine_tunings, history_of, stopped_at_end_of_budget
from tests.factories import simulated_training as simulated
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.keys import KEY, key_of
from tests.factories.plans import kept
from tests.factories.simulated_training import Track
from tests.factories.stage_results import PLAUSIBLE, plausible, result_of

TRIAL = TrialRow("dynamic/1", "dynamic", 1)
LABELS = ("pretrain@1", "pretrain@2", "task#1", "task#2")
FINISHED, DIVERGED, FAILED = Status.FINISHED, Status.DIVERGED, Status.FAILED


def record(sequence: int, label: str, status: Status, trial: str | None = TRIAL.name) -> Record:
    stage = "pretrain" if label.startswith("pretrain") else "fine_tune"
    ends = {FAILED: {"error": "no"}, DIVERGED: {"tokens": 1, "loss": "nan"} if stage == "pretrain" else {"step": 1}}
    result = result_of(stage, ends.get(status, PLAUSIBLE[stage]), status)
    return Record(sequence, trial, stage, label, key_of(f"{sequence}"), status, result, 1.0, reused=False)


def records(*statuses: Status) -> list[Record]:
    """Return one record per label, as far as there are statuses."""
    return [record(place, *pair) for place, pair in enumerate(zip(LABELS, statuses, strict=False), 1)]


def decision(cleared: bool) -> Decision:
    return Decision(1, TRIAL.name, 0, cleared, 5.0, 6.0, 1)


@pytest.mark.parametrize(
    ("rows", "cleared", "standing"),
    [
        ([], [], TrialStatus.WAITING),
        (records(FINISHED), [], TrialStatus.RUNNING),
        (records(FINISHED), [True], TrialStatus.RUNNING),
        (records(FINISHED), [False], TrialStatus.STOPPED),
        (records(FINISHED, FINISHED, FINISHED, FINISHED), [True], TrialStatus.FINISHED),
        (records(FINISHED, DIVERGED), [True], TrialStatus.DIVERGED),
        (records(FINISHED, FINISHED, DIVERGED, FAILED), [], TrialStatus.DIVERGED),
        (records(FAILED), [], TrialStatus.FAILED),
        (records(FINISHED, FINISHED, FINISHED, FAILED), [], TrialStatus.FAILED),
        ([*records(FAILED), record(9, LABELS[0], FINISHED)], [], TrialStatus.RUNNING),
        ([*records(FINISHED, FINISHED, FINISHED, FAILED), record(9, LABELS[3], FINISHED)], [], TrialStatus.FINISHED),
        ([*records(FAILED), record(9, LABELS[0], FAILED)], [], TrialStatus.FAILED),
    ],
)
def test_a_trials_status_follows_its_latest_rows(
    rows: list[Record], cleared: list[bool], standing: TrialStatus
) -> None:
    history = history_of(TRIAL, rows, [decision(one) for one in cleared], LABELS)
    assert history.status is standing
    assert (history.stopped_by is None) == all(cleared)


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(Status)), max_size=12))
def test_the_latest_record_of_each_label_counts_in_the_order_written(
    written: list[tuple[str, Status]],
) -> None:
    rows = [record(place, *pair) for place, pair in enumerate(written, 1)]
    others = [replace(row, trial="other/1") for row in rows] + [replace(row, trial=None) for row in rows]
    history = history_of(TRIAL, [*rows, *others], [], LABELS)
    latest = {row.label: row for row in rows}
    assert sorted(history.records, key=lambda row: row.label) == [latest[label] for label in sorted(latest)]
    assert [row.sequence for row in history.records] == sorted(row.sequence for row in latest.values())
    finished = [row for row in history.records if row.stage == "pretrain" and row.status is FINISHED]
    assert list(history.finished("pretrain")) == finished


def test_a_snapshot_folds_every_trial_and_is_over_when_each_has_ended() -> None:
    with closing(Ledger(Path(":memory:"))) as ledger:
        for name, value in (("experiment", "e"), ("scale", "s"), ("document", {}), ("labels", [*LABELS])):
            ledger.set_fact(name, value)
        seeds = [3, 1, 2]
        for seed in seeds:
            ledger.add_trial(TrialRow(f"dynamic/{seed}", "dynamic", seed))
        assert not snapshot(ledger).over
        rows = [record(0, label, FINISHED, f"dynamic/{seed}") for seed in seeds for label in LABELS]
        random.Random(3).shuffle(rows)
        for row in [record(0, "corpus", FINISHED, None), *rows[:-1]]:
            ledger.add_record(row)
        assert not snapshot(ledger).over
        ledger.add_record(rows[-1])
        done = snapshot(ledger)
        assert done.over
        assert [history.trial.seed for history in done.of_arm("dynamic")] == [1, 2, 3]
        assert [row.label for row in done.shared] == ["corpus"]
        assert all(len(history.records) == len(LABELS) for history in done.histories)


@pytest.mark.parametrize("hurdle", [simulated.HURDLES, {"kind": "rank_checked"}])
def test_a_checkpoint_is_no_rung(tmp_path: Path, hurdle: dict[str, Any]) -> None:
    settings = {"tokens": 2560, "seeds": [1], "hurdle": hurdle, "checkpoints": [192, 320, 960, 1280]}
    experiment = simulated.search(tmp_path, pretraining=settings)
    rungs, path = experiment.pretraining.rung_tokens, tmp_path / "ledger.sqlite"
    with closing(Ledger(path)) as ledger:
        ledger.set_fact("document", experiment.model_dump(mode="json"))
    found = Track(experiment, tmp_path).run()
    stopped = [history for history in found.histories if history.status is TrialStatus.STOPPED]
    assert stopped
    for history in stopped:
        assert history.audit == ()
        assert history.records[-1].label == f"pretrain@{rungs[history.decisions[-1].level]}"
    with closing(Ledger(path)) as ledger:
        seen = SearchHistory(experiment, ledger).candidates
        state = RunState(experiment, shared_stages(experiment), path)
        state.apply_all(rows_of(ledger))
    assert SearchHistory(experiment, state.rows).candidates == seen
    for history in stopped:
        assert len(seen[history.trial.arm].losses) == len(history.finished("pretrain"))


def test_the_end_of_a_budget_is_told_from_a_hurdle_and_from_setting_one() -> None:
    made = [
        Decision(1, "sets", 0, False, 5.0, None),
        Decision(2, "below", 0, False, 5.0, 4.0, 1),
        Decision(3, "over", 0, True, 3.0, 4.0, 1),
        Decision(4, "waits", 0, False, 3.5, None),
        Decision(5, "over", 1, False, 2.0, None),
        Decision(6, "diverged", 0, False, None, None),
    ]
    assert stopped_at_end_of_budget(made, None) == frozenset()
    assert stopped_at_end_of_budget(made, "progressive_hurdles") == {"waits"}
    assert stopped_at_end_of_budget(made, "tournament") == {"sets", "waits", "over"}


def test_the_end_of_a_budget_is_named_in_reports_and_in_mlflow() -> None:
    waits = replace(
        history_of(TRIAL, records(FINISHED), [Decision(1, TRIAL.name, 0, False, 3.5, None)], LABELS),
        stopped_at_end_of_budget=True,
    )
    assert status_of([waits], 1) == "stopped at hurdle 1 by the end of the budget, value 3.5"
    assert stop_reason(waits) == "end of the budget at hurdle 1: 3.5"
    sets = replace(waits, stopped_at_end_of_budget=False)
    assert status_of([sets], 1) == "stopped at hurdle 1, which it sets, value 3.5"


SEARCHED = ("rte#10 epochs=1", "rte#10 epochs=3", "rte#2 epochs=1", "rte#2 epochs=3")


SCORES = {"rte#10 epochs=1": 60.0, "rte#10 epochs=3": 70.0, "rte#2 epochs=1": 90.0, "rte#2 epochs=3": 80.0}


def tuned(label: str, sequence: int, **choice: Any) -> Record:
    task, _, rest = label.partition("#")
    found = {"task": task, "seed": int(rest.split()[0]), "examples": 4, "scores": {"accuracy": 50.0}, **choice}
    result = result_of("fine_tune", found)
    return Record(sequence, "baseline/1", "fine_tune", label, KEY, Status.FINISHED, result, 1.0, False)


@pytest.mark.parametrize("chance", range(3))
def test_the_first_seed_is_the_experiments_in_any_order_of_ends(chance: int) -> None:
    labels = ("rte#10", "rte#2", "cola#10", "cola#2")
    ended = random.Random(chance).sample(labels, len(labels))
    records = [tuned(label, number) for number, label in enumerate(ended, 1)]
    assert {task: record.label for task, record in first_fine_tunings(records, labels).items()} == {
        "rte": "rte#10",
        "cola": "cola#10",
    }


@pytest.mark.parametrize("chance", range(3))
def test_of_a_search_the_selected_settings_are_taken(chance: int) -> None:
    ended = random.Random(chance).sample(SEARCHED, len(SEARCHED))
    half = {"n": 2, "reported": 2, "chosen_on": None, "searched": {"epochs": [1, 3]}}
    records = [tuned(label, number, choice={"score": SCORES[label], **half}) for number, label in enumerate(ended, 1)]
    assert first_fine_tunings(records, SEARCHED)["rte"].label == "rte#10 epochs=3"


def test_the_model_that_generates_is_of_the_first_seed_also_if_it_ended_last(tmp_path: Path) -> None:
    tuning = {"tasks": ["docs_pair"], "seeds": [10, 2], "sequence_length": 16}
    experiment = simulated.small_table(tmp_path, fine_tuning=tuning)
    paths = ResultPaths.of(tmp_path / "results")
    store = ArtifactStore(paths.stages)
    with open_ledger(RunRequest(experiment, "whole", paths)) as ledger:
        journal = declare_first_cohort(experiment, store, ledger)
        stages = journal.state.stages_of("baseline/1")
        vocabulary = journal.state.shared_stages["tokens"]
        kept(store, vocabulary, b"")
        shared = Record(0, None, "tokens", "tokens", vocabulary.key, Status.FINISHED, plausible("tokens"), 1.0, False)
        ledger.add_record(shared)
        for label in ("docs_pair#2", "docs_pair#10"):
            kept(store, stages[label], label.encode())
            ledger.add_record(replace(tuned(label, 0, signatures={"bleu": "v"}), key=stages[label].key))
    (found,) = tuned_trials(tmp_path / "results")
    assert (found.stage / "content").read_text() == "docs_pair#10"
