"""The long-sequence phase: which stages depend on it, and when it starts."""

from collections.abc import Iterable

import pytest

from runners.scheduling.trial import Trial, TrialPlan
from runners.stages.corpus import CorpusStage
from runners.stages.stage import Stage
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.metrics import final_loss
from steeplechase.ledger.records import Record, Status, TrialRow
from steeplechase.ledger.stage_results import PretrainResult
from steeplechase.ledger.trial_history import history_of
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from tests.factories.keys import KEY
from tests.factories.stage_results import PLAUSIBLE, result_of

ANY_STAGE = Stage(CorpusStage(corpus=DocumentationCorpus(), read={}))
LABELS = ("pretrain@10", "short#1", "short#2", "long_sequence_phase", "long#1", "long#2")


def trial(statuses: Iterable[tuple[str, Status]]) -> Trial:
    """Return a trial with a long-sequence phase, some of whose stages have ended."""
    stages = dict.fromkeys(LABELS, ANY_STAGE)
    row = TrialRow("arm/1", "arm", 1, None)
    found = Trial(TrialPlan(row, 0, stages, ("pretrain@10",), gates=("long_sequence_phase",)))
    for label, status in statuses:
        kind = StageLabel.parse(label).kind
        lost = {"step": 9} if kind == "fine_tune" else {"tokens": 9, "loss": "nan"}
        found_end = {**PLAUSIBLE[kind], **({"held_out_loss": 1.0} if kind == "pretrain" else {})}
        result = result_of(kind, {FAILED: {"error": "no"}, DIVERGED: lost}.get(status, found_end), status)
        found = found.with_record(Record(0, "arm/1", kind, label, KEY, status, result, 0.0, False))
    return found


DONE, DIVERGED, FAILED = Status.FINISHED, Status.DIVERGED, Status.FAILED


@pytest.mark.parametrize(
    ("statuses", "ready", "ended"),
    [
        ({}, ["pretrain@10"], False),
        ({"pretrain@10": DONE}, ["short#1", "short#2", "long_sequence_phase"], False),
        ({"pretrain@10": DONE, "long_sequence_phase": DONE}, ["short#1", "short#2", "long#1", "long#2"], False),
        ({"pretrain@10": DONE, "long_sequence_phase": DIVERGED}, ["short#1", "short#2"], False),
        (dict.fromkeys(LABELS[:3], DONE) | {"long_sequence_phase": FAILED}, [], True),
        (dict.fromkeys(LABELS[:4], DONE), ["long#1", "long#2"], False),
        (dict.fromkeys(LABELS, DONE), [], True),
        ({"pretrain@10": DIVERGED}, [], True),
    ],
)
def test_stages_after_the_phase_wait_for_it_and_no_others(
    statuses: dict[str, Status], ready: list[str], ended: bool
) -> None:
    found = trial(statuses.items())
    assert [task.label for task in found.ready] == ready
    assert found.ended is ended


def test_the_held_out_loss_of_a_trial_is_that_before_the_phase() -> None:
    label = "long_sequence_phase"
    longer = Record(2, "arm/1", label, label, KEY, DONE, PretrainResult(tokens=20, held_out_loss=0.5), 0.0, False)
    before = Record(
        1, "arm/1", "pretrain", "pretrain@10", KEY, DONE, PretrainResult(tokens=10, held_out_loss=1.0), 0.0, False
    )
    history = history_of(TrialRow("arm/1", "arm", 1, None), [before, longer], [], LABELS)
    assert final_loss(history, LABELS) == 1.0
