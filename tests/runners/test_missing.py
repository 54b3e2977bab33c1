"""What the machine lacks for an experiment is named before the first stage: data, libraries and a GPU."""

import sys
from pathlib import Path

import pytest

from runners.missing_data import missing_device, refuse_missing
from runners.opening import RunRequest
from runners.plan import plan_of
from runners.run import run
from runners.settings import Selection
from search_space.cost import MATMUL
from steeplechase.commands.arguments import choose, choose_any
from steeplechase.commands.planning.costs import gpu_hours
from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation import environment
from steeplechase.foundation.errors import DataError, MachineError
from steeplechase.ledger.paths import ResultPaths
from tests.factories.command_calls import TABLE


def test_missing_data_and_libraries_are_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # what Python does where it is not installed
    monkeypatch.setenv("STEEPLECHASE_DATA", str(tmp_path))
    with pytest.raises(DataError) as refusal:
        refuse_missing(load_experiment(TABLE, "paper"))
    lines = refusal.value.lines
    assert any("Skylion007/openwebtext of the Hugging Face hub needs the extra `datasets`" in line for line in lines)
    assert len(lines) == 10  # eight tasks and the common hint


@pytest.mark.parametrize(
    ("torch", "visible", "reason"),
    [
        ("2.13.0+cpu", None, "the installed PyTorch is built for CPUs alone"),
        ("2.13.0", "", "CUDA_VISIBLE_DEVICES hides every GPU"),
        ("2.13.0+cu130", None, "the system has no GPU device"),
    ],
)
def test_why_there_is_no_gpu(
    torch: str, visible: str | None, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(environment, "version", lambda _: torch)
    monkeypatch.setattr(environment, "GPU_DEVICES", (str(tmp_path / "none"),))
    monkeypatch.setattr(environment.platform, "system", lambda: "Linux")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert environment.gpu_missing() == reason
    monkeypatch.setattr(environment, "GPU_DEVICES", (str(tmp_path),))
    assert (environment.gpu_missing() is None) == torch.endswith("cu130")


def test_a_run_on_a_missing_gpu_is_refused_before_any_folder_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.missing_data.gpu_missing", lambda: "there is none")
    experiment, *_ = choose_any(TABLE, "smoke", ["baseline.recipe.device=cuda"])
    with pytest.raises(MachineError, match=r"recipe\.device: cuda of every arm is not available on this machine"):
        run(RunRequest(experiment, "smoke", ResultPaths.of(tmp_path / "out")), lambda _: None)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("runners.missing_data.gpu_missing", lambda: None)
    assert [*missing_device(experiment)] == []


def test_gpu_hours_are_told_of_an_experiment_for_gpus_alone(tmp_path: Path) -> None:
    plans = {scale: choose(TABLE, scale) for scale in ("paper", "demo")}
    told = {
        scale: [
            *gpu_hours(chosen.experiment, plan_of(chosen.experiment, Selection(out=tmp_path), MATMUL, chosen.scale))
        ]
        for scale, chosen in plans.items()
    }
    assert told["demo"] == []
    (line,) = told["paper"]
    assert line.startswith("pretraining: 3.17e19 FLOPs in all, in bfloat16. Hours at 30% of the peak: A100 94")
