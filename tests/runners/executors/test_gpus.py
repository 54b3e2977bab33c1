"""Executors: GPUs in turn and in keys, memory that workers return, and trials as Tune asks for them."""

import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.executors import local
from runners.executors.local import LocalExecutor, _gpus, worker_environment
from runners.executors.ray import is_placed
from runners.executors.worker import failure
from runners.journal import ATTEMPTS
from runners.stages.evaluation_set import EvaluationSetStage
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask
from search_space.objective import MaskedLanguageModel
from search_space.recipe import Recipe
from steeplechase.foundation import devices
from steeplechase.foundation.errors import MachineError
from steeplechase.ledger.records import Status, TrialStatus
from steeplechase.ledger.stage_results import FailedStage
from steeplechase.tasks.contracts.small_candidates import small_candidate
from tests.factories.paths import ROOT
from tests.factories.simulated_training import Track, curve, found, small_search, small_table
from tests.factories.simulated_tune import Handed

CARDS = ("0", "1", "2", "3")


@dataclass(frozen=True)
class Declaration:
    """What an executor asks of a stage."""

    processes: int = 1
    exclusive: bool = False


def task(processes: int = 1) -> StageTask:
    return StageTask("a/1", "pretrain", cast(Stage, Stage(cast(Any, Declaration(processes)))))


@pytest.fixture
def four_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "cards", lambda: CARDS)


@pytest.mark.usefixtures("four_cards")
@pytest.mark.parametrize(
    ("processes", "share", "workers", "expected"),
    [
        (1, None, 5, [("0",), ("1",), ("2",), ("3",), ("0",)]),
        (2, None, 2, [("0", "1"), ("2", "3")]),
        (1, 2.0, 2, [("0", "1"), ("2", "3")]),
        (1, 0.5, 5, [("0",), ("1",), ("2",), ("3",), ("0",)]),
    ],
)
def test_local_workers_get_cards_in_turn(
    processes: int, share: float | None, workers: int, expected: list[tuple[str, ...]], tmp_path: Path
) -> None:
    executor = LocalExecutor(tmp_path, 64, gpus_per_trial=share)
    for _ in range(workers):
        needed = executor._cards_of(task(processes))
        executor._workers.append(local._Worker(executor._least_used(needed), share))
    assert [worker.cards for worker in executor._workers] == expected


@pytest.mark.usefixtures("four_cards")
def test_a_worker_sees_its_cards_and_its_share_of_their_memory(tmp_path: Path) -> None:
    assert _gpus(("2",), 0.25) == {"CUDA_VISIBLE_DEVICES": "2", "STEEPLECHASE_GPU_SHARE": "0.25"}
    assert _gpus(("0", "1"), 2.0) == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert _gpus((), None) == {}
    fitting = {0.5: 8, 0.4: 8, 0.6: 4, 0.1: 40, 1.0: 4, 3.0: 1}
    assert {share: LocalExecutor(tmp_path, 64, gpus_per_trial=share)._limit for share in fitting} == fitting
    with pytest.raises(MachineError, match=r"--gpus-per-trial 5: this machine has 4; allowed: up to 4"):
        LocalExecutor(tmp_path, 64, gpus_per_trial=5)


def evaluation_set(device: str, generator_tokens: int) -> StageTask:
    reference = small_candidate(MaskedLanguageModel())
    recipe = Recipe.model_validate({**reference.recipe.model_dump(), "device": device})
    reference = reference.model_copy(update={"recipe": recipe})
    declaration = EvaluationSetStage(
        reference=reference, objective="masked_language_model", sequences=2, generator_tokens=generator_tokens
    )
    return StageTask(None, "shared evaluation_set", Stage(declaration))


@pytest.mark.parametrize(("device", "tokens", "placed"), [("cuda", 9, True), ("cuda", 0, False), ("cpu", 9, False)])
def test_a_shared_stage_that_trains_on_a_gpu_runs_where_trials_do(device: str, tokens: int, placed: bool) -> None:
    """The head of a cluster need not have one."""
    assert is_placed(evaluation_set(device, tokens)) == placed


def test_the_card_cuda_and_triton_are_in_the_keys_of_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> tuple[str, str]:
        devices.card.cache_clear()
        return evaluation_set("cpu", 100).stage.key, evaluation_set("cuda", 100).stage.key

    monkeypatch.setenv(devices.CARD, "NVIDIA H200")
    one = keys()
    monkeypatch.setenv(devices.CARD, "NVIDIA A100-SXM4-80GB")
    other = keys()
    devices.card.cache_clear()
    assert one[0] == other[0]
    assert one[1] != other[1]


def test_a_full_gpu_is_a_failure_with_its_remedies() -> None:
    told = Failure.of(failure(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nmore")))
    assert told.error.startswith("OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB. Set more recipe.")
    assert "\n" not in told.error
    assert Failure.of(failure(ValueError("no"))).error == "ValueError: no"


TENSORS = """
import resource
from pathlib import Path
import torch
from runners.executors.worker import return_free_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

torch.ones(8 << 20)  # 32 MB
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, resident()
for _ in range(200):
    torch.ones(1 << 20)  # the logits of a small batch: 4 MB
kept = [torch.ones(1 << 18) for _ in range(100)]
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
del kept
return_free_memory()
print(faults, resident() - began)
"""


def test_freed_tensors_are_reused_within_a_stage_and_returned_after_it() -> None:
    asked = [sys.executable, "-c", TENSORS]
    environment = {**os.environ, **worker_environment()}
    told = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    faults, more = map(int, told.split())
    assert faults < 60_000  # a mapping for every tensor would cost 1,024 pages of 4 kB each, 230,000 in all
    assert more < 32 << 20


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


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a search comes to in which no process dies."""
    folder = tmp_path_factory.mktemp("quiet")
    return found(Track(small_search(folder), folder, curve).run())


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(0, 10_000))
def test_decisions_of_a_search_do_not_depend_on_process_deaths(
    tmp_path_factory: pytest.TempPathFactory, quiet: dict[str, Any], workers: int, seed: int
) -> None:
    """Trials stop at hurdles and are suggested again after them, for any number of workers."""
    folder, chance = tmp_path_factory.mktemp("storm"), random.Random(seed)
    storm = Handed(
        small_search(folder),
        folder,
        workers=workers,
        order=chance,
        dies=lambda key, before: before < ATTEMPTS - 1 and chance.random() < 0.3,
    )
    assert found(storm.run()) == quiet
    assert storm.most <= workers


@given(st.integers(1, 64), st.integers(1, 200))
def test_as_many_trials_fit_on_the_gpus_as_run_at_a_time_with_the_largest_share(gpus: int, workers: int) -> None:
    from runners.executors.ray_trainable import gpu_share  # imports Ray

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
    from runners.executors.ray_trainable import gpus_of_processes

    assert gpus_of_processes(share, processes) == gpus
