"""Effects of stage outcomes on a run: attempts, failures, user errors, and stored results."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runners.journal import ATTEMPTS, StageFailed
from runners.work_queue import Failure, StageTask
from steeplechase.foundation.errors import ConflictError, DataError, MachineError
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import Record, Status, TrialStatus
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.keys import key_of
from tests.factories.simulated_training import Track, curve, found, small_table
from tests.factories.stage_results import plausible


def failing(label: str, *ends: Outcome | Failure) -> Any:
    """Return a trainer in which the stages of one label have the given outcomes by attempt, then normal ones."""
    tried: Counter[str] = Counter()

    def answer(work: StageTask) -> Outcome | Failure:
        if work.label != label:
            return curve(work)
        tried[work.stage.key] += 1
        return ends[tried[work.stage.key] - 1] if tried[work.stage.key] <= len(ends) else curve(work)

    return answer


DIED = Failure("the worker process ended with code -9", worker_died=True)
RAISED = Failure("ValueError: no", 'Traceback\n  File "tokens.py", line 3, in compute\n    raise\nValueError: no')
DIVERGED = Outcome(Status.DIVERGED, {"tokens": 64, "loss": "nan"}, 1.0)
TUNING_DIVERGED = Outcome(Status.DIVERGED, {"step": 1, "loss": "nan"}, 1.0)


@pytest.mark.parametrize(
    ("label", "ends", "standing", "attempts"),
    [
        ("pretrain@2560", [], TrialStatus.FINISHED, 1),
        ("pretrain@2560", [DIED], TrialStatus.FINISHED, 2),
        ("pretrain@2560", [DIED] * (ATTEMPTS - 1), TrialStatus.FINISHED, ATTEMPTS),
        ("pretrain@2560", [DIED] * ATTEMPTS, TrialStatus.FAILED, ATTEMPTS),
        ("docs_pair#1", [DIED] * ATTEMPTS, TrialStatus.FAILED, ATTEMPTS),
        ("pretrain@2560", [RAISED], TrialStatus.FAILED, 1),
        ("docs_pair#1", [RAISED], TrialStatus.FAILED, 1),
        ("pretrain@2560", [DIED, RAISED], TrialStatus.FAILED, 2),
        ("pretrain@2560", [DIVERGED], TrialStatus.DIVERGED, 1),
        ("docs_pair#1", [TUNING_DIVERGED], TrialStatus.DIVERGED, 1),
    ],
)
def test_the_status_of_a_trial_follows_from_its_stages(
    tmp_path: Path, label: str, ends: list[Outcome | Failure], standing: TrialStatus, attempts: int
) -> None:
    asked: Counter[str] = Counter()
    answer = failing(label, *ends)

    def counted(work: StageTask) -> Outcome | Failure:
        asked[f"{work.trial} {work.label}"] += 1
        return answer(work)

    done = Track(small_table(tmp_path), tmp_path, counted).run()
    assert {history.status for history in done.histories} == {standing}
    assert {count for name, count in asked.items() if name.endswith(f"/1 {label}")} == {attempts}
    behind = {name for name in asked if "docs_pair#1" in name}
    assert len(behind) == (0 if label.startswith("pretrain") and standing is not TrialStatus.FINISHED else 3)


@pytest.mark.parametrize("label", ["pretrain@2560", "docs_pair#1"])
def test_the_next_run_retries_failed_trials_and_not_diverged_ones(tmp_path: Path, label: str) -> None:
    calm, failed, diverged = (tmp_path / name for name in ("calm", "failed", "diverged"))
    for folder in (calm, failed, diverged):
        folder.mkdir()
    experiment = small_table(tmp_path)
    expected = found(Track(experiment, calm).run())
    Track(experiment, failed, failing(label, RAISED)).run()
    assert found(Track(experiment, failed).run()) == expected
    end = DIVERGED if label.startswith("pretrain") else TUNING_DIVERGED
    before = found(Track(experiment, diverged, failing(label, end)).run())
    again = Track(experiment, diverged)
    assert (found(again.run()), again.computed) == (before, [])


def test_a_user_error_of_a_stage_ends_the_run_with_its_message(tmp_path: Path) -> None:
    refused = Failure("DataError: text.txt:3: a NUL byte\nand more", exit_code=4)
    for label in ("tokens", "pretrain@2560"):
        with pytest.raises(DataError, match="NUL") as told:
            Track(small_table(tmp_path), tmp_path, failing(label, refused)).run()
        assert told.value.lines == ("text.txt:3: a NUL byte", "and more")


def test_a_shared_stage_that_raises_ends_the_run_and_one_whose_worker_dies_is_retried(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="tokens: ValueError: no") as told:
        Track(small_table(tmp_path), tmp_path, failing("tokens", RAISED)).run()
    assert told.value.exit_code == MachineError.exit_code  # lines for the user, never a traceback
    assert told.value.lines[1:-1] == ('  at File "tokens.py", line 3, in compute',)
    with pytest.raises(StageFailed, match="evaluation_set: the worker process"):
        Track(small_table(tmp_path), tmp_path, failing("evaluation_set", *[DIED] * ATTEMPTS)).run()
    assert Track(small_table(tmp_path), tmp_path, failing("evaluation_set", DIED, DIED)).run().over


def test_stored_results_are_never_recomputed(tmp_path: Path) -> None:
    experiment = small_table(tmp_path)
    first = Track(experiment, tmp_path)
    expected = found(first.run())
    (tmp_path / "ledger.sqlite").unlink()
    second = Track(experiment, tmp_path)
    assert (found(second.run()), second.computed) == (expected, [])
    assert second.last is not None
    assert all(record.reused for history in second.last.histories for record in history.records)


@pytest.mark.parametrize("label", ["corpus", "pretrain@2560"])
def test_results_of_other_data_or_code_are_refused(tmp_path: Path, label: str) -> None:
    experiment = small_table(tmp_path)
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        if label != "corpus":
            declare_first_cohort(experiment, ArtifactStore(tmp_path), ledger)
        trial = None if label == "corpus" else "narrow/1"
        kind = label.partition("@")[0]
        ledger.add_record(
            Record(0, trial, kind, label, key_of("another"), Status.FINISHED, plausible(kind), 0.5, False)
        )
    with pytest.raises(ConflictError, match=f"{label} was made from other data, code or library versions"):
        Track(experiment, tmp_path).run()
