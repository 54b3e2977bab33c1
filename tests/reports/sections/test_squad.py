"""A report on SQuAD states files, numbers of questions and the data of the threshold."""

from reports.sections.squad import squad_notes
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Record, Status, TrialRow, TrialStatus
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.keys import KEY
from tests.factories.stage_results import PLAUSIBLE, SQUAD_PART, result_of


def examples(task: str, **parts: JsonValue) -> Record:
    result = result_of("examples", {**PLAUSIBLE["examples"], "task": task, **parts})
    return Record(0, None, "examples", f"examples {task}", KEY, Status.FINISHED, result, 1.0, False)


def tuned(trial: str, task: str, *thresholds: float) -> TrialHistory:
    """Return a trial with these thresholds; of several each is that of a setting, the first is selected."""
    counts = {"task": task, "threshold_questions": 40, "threshold_unanswerable": 12}
    records = []
    for place, threshold in enumerate(thresholds):
        choice = {"score": -place, "n": 9, "reported": 9, "chosen_on": "dev", "searched": {"epochs": place}}
        of_setting = {"choice": choice} if len(thresholds) > 1 else {}
        found = {**PLAUSIBLE["fine_tune"], **counts, "null_threshold": threshold, **of_setting}
        label = f"{task}#1 epochs={place}" if of_setting else f"{task}#1"
        result = result_of("fine_tune", found)
        records.append(Record(place, trial, "fine_tune", label, KEY, Status.FINISHED, result, 1.0, False))
    return TrialHistory(TrialRow(trial, "baseline", 1, None), (*records,), (), TrialStatus.FINISHED)


def snapshot(*shared: Record, histories: tuple[TrialHistory, ...] = ()) -> Snapshot:
    return Snapshot("squad", "whole", {}, (), (), histories, shared)


WHOLE: JsonValue = {
    **SQUAD_PART,
    "examples": 10570,
    "of": 10570,
    "file": "dev-v1.1.json",
    "official_name": True,
    "answers_lost": 0,
}
CUT: JsonValue = {
    **SQUAD_PART,
    "examples": 50,
    "of": 90,
    "file": "train-v1.1.cut.json",
    "official_name": False,
    "answers_lost": 3,
}


def test_files_and_counts_are_reported() -> None:
    ((task, note),) = squad_notes(snapshot(examples("squad_v1_1", train=CUT, dev=WHOLE), examples("docs_pair")))
    assert task == "squad_v1_1"
    assert note == (
        "trained on 50 of 90 questions of train-v1.1.cut.json, not the official file, 3 without a complete answer "
        "in any window; evaluated on all 10570 questions of dev-v1.1.json"
    )


def test_the_range_of_thresholds_of_selected_settings_and_their_selection_data_are_reported() -> None:
    histories = (tuned("baseline/1", "squad_v2_0", 2.5), tuned("baseline/2", "squad_v2_0", -1.0, -9.0))
    view = snapshot(examples("squad_v2_0", train=CUT, dev=WHOLE), histories=histories)
    ((_, note),) = squad_notes(view)
    assert note.endswith(
        "; no-answer threshold -1.00 to 2.50, the best F1 on 40 held-out train questions, 12 of them without "
        "an answer; not selected on dev"
    )
