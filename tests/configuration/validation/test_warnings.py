"""What an experiment most likely does not mean is warned of; no experiment of the repository is warned of."""

from pathlib import Path

import pytest

from configuration.loading import load_experiment
from configuration.validation.warnings import warnings_of
from configuration.yaml import scales
from tests.factories.experiment_files import experiment_of
from tests.factories.paths import EXPERIMENT_FILES, EXPERIMENTS

FILES = [(name, scale) for name in EXPERIMENT_FILES for scale in scales(EXPERIMENTS / name)]
TEXT = """
experiment: warned
question: Is it meant?
baseline:
  architecture: {{ depth: 2, width: 64, heads: 4, positions: 64 }}
  {objective}
  recipe: {{ sequence_length: 32, batch_sequences: 16, schedule: {{ kind: {kind}, warmup_tokens: {warmup} }} }}
design: {{ kind: list, arms: {{ fast: {{ recipe.schedule.warmup_tokens: 512 }} }} }}
pretraining: {{ tokens: 10240, seeds: [1], evaluations: {evaluations} }}
"""


def warned(
    folder: Path, objective: str = "objective: masked_language_model", kind: str = "linear", **parts: int
) -> tuple[str, ...]:
    file = folder / "f.yaml"
    file.write_text(TEXT.format(objective=objective, kind=kind, **{"warmup": 1024, "evaluations": 8, **parts}))
    return warnings_of(load_experiment(file, None))


def test_a_recipe_that_can_work_is_not_warned_of(tmp_path: Path) -> None:
    assert warned(tmp_path) == ()


@pytest.mark.parametrize("kind", ["linear", "constant"])
@pytest.mark.parametrize("warmup", [10240, 12800])
def test_a_warm_up_as_long_as_training_is_warned_of(tmp_path: Path, kind: str, warmup: int) -> None:
    (line,) = warned(tmp_path, kind=kind, warmup=warmup)
    updates = warmup // 512
    assert line.startswith(f"baseline: the warm-up takes {updates} updates and pretraining has 20, so the peak")
    assert line.endswith("such as 1024")


def test_more_evaluations_than_updates_are_warned_of(tmp_path: Path) -> None:
    (line,) = warned(tmp_path, evaluations=21)
    assert "pretraining.evaluations is 21" in line
    assert "20 updates" in line


def test_an_objective_that_is_left_out_is_warned_of_and_one_that_is_named_is_not(tmp_path: Path) -> None:
    (line,) = warned(tmp_path, objective="")
    assert line.startswith("baseline.objective is missing; the default is replaced_token_detection")
    assert warned(tmp_path, objective="objective: replaced_token_detection") == ()


@pytest.mark.parametrize(("file", "scale"), FILES)
def test_no_experiment_of_the_repository_is_warned_of(file: str, scale: str) -> None:
    if "timing:" in (EXPERIMENTS / file).read_text(encoding="utf-8"):
        pytest.skip("a timing experiment trains nothing")
    assert warnings_of(experiment_of(file, scale)) == ()
