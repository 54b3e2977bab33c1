"""What `run` says first, where it puts results, and the cluster of the environment."""

import re
from pathlib import Path

import pytest

from runners.cost_estimate.prediction import Prediction, Range
from runners.opening import RunRequest, stages_of
from runners.part import Part
from runners.settings import Selection
from steeplechase.commands.run import cluster_in_environment, refuse_silent_cluster
from steeplechase.commands.run_lines import WorkLeft, opening_lines
from steeplechase.foundation.errors import MachineError
from steeplechase.ledger.paths import ResultPaths
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import Track


def test_the_first_line_has_experiment_scale_trials_and_time(tmp_path: Path) -> None:
    declared = simulated.small_table(tmp_path)
    shared = stages_of(declared)
    request = RunRequest(
        declared, "demo", ResultPaths.of(tmp_path / "results"), shared=shared, part=Part(("narrow",))
    )
    (line,) = opening_lines(request, is_default=True)
    assert line == "simulated at scale demo (the default): 1 trial, no estimate of the time yet"
    Track(declared, tmp_path / "results").run()
    whole = RunRequest(declared, "whole", request.paths, shared=shared)
    assert opening_lines(whole, is_default=False) == ("simulated: 3 trials, nothing left to compute",)
    search = simulated.search(tmp_path)
    (line,) = opening_lines(RunRequest(search, "whole", request.paths, shared=stages_of(search)), False)
    assert "at most 12 trials" in line


def test_a_disk_with_less_space_than_predicted_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = simulated.small_table(tmp_path)
    work = WorkLeft(3, Prediction(None, Range(2e15, None, None), 3, ()))
    monkeypatch.setattr("steeplechase.commands.run_lines.work_left", lambda *of: work)
    request = RunRequest(declared, "whole", ResultPaths.of(tmp_path / "results"), shared=stages_of(declared))
    _, shortage = opening_lines(request, is_default=False)
    assert re.fullmatch(r"warning: .*: about 2,000,000,000.0 MB are needed, and .* MB are free", shortage)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (["pretraining.seeds=1-3", "fine_tuning.tasks=[]"], "mine-demo"),
        (["pretraining.tokens=1e5", "pretraining.seeds=3"], "mine-demo-tokens=1e5"),
    ],
)
def test_settings_by_which_a_study_grows_leave_it_in_its_folder(settings: list[str], name: str) -> None:
    assert Selection(overrides=tuple(settings)).paths_of("mine", "demo").folder == Path("results") / name


@pytest.mark.parametrize(("value", "address"), [("10.0.0.1:6379", "10.0.0.1:6379"), ("", None), ("local", None)])
def test_the_cluster_of_the_environment(monkeypatch: pytest.MonkeyPatch, value: str, address: str | None) -> None:
    monkeypatch.setenv("RAY_ADDRESS", value)
    assert cluster_in_environment() == address


def test_a_cluster_of_the_environment_that_does_not_answer_is_refused_by_the_name_of_the_variable() -> None:
    refuse_silent_cluster("auto")
    with pytest.raises(
        MachineError, match=r"^RAY_ADDRESS: no Ray cluster answers at 127\.0\.0\.1:1 .* unset RAY_ADDRESS"
    ):
        refuse_silent_cluster("127.0.0.1:1")
