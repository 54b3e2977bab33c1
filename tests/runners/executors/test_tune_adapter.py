"""Executors do not affect decisions: stops, waits and deaths of processes give the same results."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.executors.ray_trainable import gpu_share, gpus_of_processes
from runners.journal import ATTEMPTS
from steeplechase.ledger.records import Status, TrialStatus
from steeplechase.ledger.stage_results import FailedStage
from tests.factories.simulated_training import (
    Track,
    curve,
    folder_of,
    found,
    small_search,
    small_table,
)
from tests.factories.simulated_tune import Handed


@pytest.mark.parametrize("times", range(ATTEMPTS + 1))
def test_a_stage_is_retried_until_three_deaths_and_each_death_counts_once(tmp_path: Path, times: int) -> None:
    run = Handed(small_table(tmp_path), tmp_path, dies=lambda key, before: before < times)
    histories = run.run().histories
    if times < ATTEMPTS:
        assert {history.status for history in histories} == {TrialStatus.FINISHED}
        return
    for history in histories:
        (failed,) = [record for record in history.records if record.status is Status.FAILED]
        assert isinstance(failed.result, FailedStage)
        assert failed.result.error == f"the trial's process died {ATTEMPTS} times: The actor died."
        assert failed.result.attempts == ATTEMPTS


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(0, 10_000))
def test_decisions_of_a_search_do_not_depend_on_process_deaths(
    tmp_path_factory: pytest.TempPathFactory, workers: int, seed: int
) -> None:
    """Trials stop at hurdles and are suggested again after them, for any number of workers."""
    folder = tmp_path_factory.mktemp("hall")
    chance = random.Random(seed)
    quiet = Track(small_search(folder_of(folder, "quiet")), folder / "quiet", curve).run()
    storm = Handed(
        small_search(folder_of(folder, "storm")),
        folder / "storm",
        workers=workers,
        order=chance,
        dies=lambda key, before: before < ATTEMPTS - 1 and chance.random() < 0.3,
    )
    assert found(storm.run()) == found(quiet)
    assert storm.most <= workers


@given(st.integers(1, 64), st.integers(1, 200))
def test_as_many_trials_fit_on_the_gpus_as_run_at_a_time_with_the_largest_share(gpus: int, workers: int) -> None:
    share = gpu_share(gpus, workers)
    a_gpu_holds = round(1 / share)
    assert a_gpu_holds * gpus >= workers
    assert (a_gpu_holds - 1) * gpus < workers
    assert gpu_share(0, workers) == 0.0


@pytest.mark.parametrize(
    ("share", "processes", "gpus"), [(1.0, 4, 4), (0.5, 1, 0.5), (0.5, 2, 1), (0.5, 3, 2), (0.0, 2, 0)]
)
def test_a_trial_of_several_processes_has_the_shares_of_all(share: float, processes: int, gpus: float) -> None:
    """More than one GPU is a whole number, as Ray needs."""
    assert gpus_of_processes(share, processes) == gpus
