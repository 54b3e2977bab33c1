"""What `run` says at its end of trials that failed: what the same command does, and what has waited for them."""

from pathlib import Path

import pytest

from runners.work_queue import Failure, StageTask
from steeplechase.commands.run_lines import failure_lines
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.artifacts import Outcome
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import Track, curve


def lines(experiment: Experiment, folder: Path, trial: str) -> list[str]:
    def answer(work: StageTask) -> Outcome | Failure:
        return Failure("OSError: no space") if work.trial == trial else curve(work)

    return list(failure_lines(Track(experiment, folder, answer).run(), experiment))


def test_a_search_waits_for_failed_trials(tmp_path: Path) -> None:
    first, *rest = lines(simulated.small_search(tmp_path), tmp_path, "candidate-001/1")
    assert first == "failed: candidate-001/1; the same command repeats them"
    assert [line.split()[0] for line in rest] == ["No", "A"]


@pytest.mark.parametrize(("trial", "first_words"), [("narrow/1", ["failed:"]), ("nobody/1", [])])
def test_a_table_waits_for_nothing(tmp_path: Path, trial: str, first_words: list[str]) -> None:
    found = lines(simulated.small_table(tmp_path), tmp_path, trial)
    assert [line.split()[0] for line in found] == first_words
