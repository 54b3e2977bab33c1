"""GPUs of executors: cards in turn, shared stages where trials run, cards in keys, and what a missing one says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from runners.executors import local
from runners.executors.local import LocalExecutor, _gpus
from runners.executors.ray import is_placed
from runners.executors.worker import failure
from runners.stages.evaluation_set import EvaluationSetStage
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask
from search_space.objective import MaskedLanguageModel
from search_space.recipe import Recipe
from steeplechase.foundation import devices
from steeplechase.foundation.errors import MachineError
from steeplechase.tasks.contracts.small_candidates import small_candidate

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
    assert LocalExecutor(tmp_path, 64, gpus_per_trial=0.5)._limit == 8
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


def test_a_full_gpu_is_a_class_of_failure_with_its_remedies() -> None:
    told = Failure.of(failure(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nmore")))
    assert told.out_of_memory
    assert told.error.startswith("OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB. Set more recipe.")
    assert "\n" not in told.error
    assert not Failure.of(failure(ValueError("no"))).out_of_memory
