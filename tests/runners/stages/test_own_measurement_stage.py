"""The measurement by a function of the user: its numbers without NaN, and its failure with the line of its code."""

from pathlib import Path

import numpy as np
import pytest

from runners.executors.worker import failure
from runners.stages.context import ProgressFile, StageContext
from runners.stages.own_measurement import OwnMeasurementStage
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers import build_optimiser
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from search_space.recipe import Recipe
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.objectives import build_model
from tests.factories.local_models import sized
from tests.factories.plugins import loaded
from tests.factories.small_experiments import WORDS

SOURCE = """
def shape(encoder, tokens):
    return {"rows": tokens.shape[0], "nothing": float("nan")}

def undefined(encoder, tokens):
    return float("nan")

def beyond(encoder, tokens):
    return float(encoder(tokens)[len(tokens)].mean())

def ends(encoder, tokens):
    raise SystemExit(3)

def words(encoder, tokens):
    return "many"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a plugin, a checkpoint, and the tokens of a text."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "plugin" / "tasks" / "own_measurements").mkdir(parents=True)
    (folder / "plugin" / "tasks" / "own_measurements" / "mine.py").write_text(SOURCE)
    learner = Candidate(architecture=sized(), objective=MaskedLanguageModel(), recipe=Recipe(dropout=0.0))
    model = build_model(learner, None, 1)
    save_checkpoint(folder / "pretrained" / "checkpoint", model, build_optimiser(model, learner.recipe), {})
    (folder / "tokens").mkdir()
    WORDS.save(folder / "tokens")
    np.save(folder / "tokens" / "validation.npy", np.full(64, 5, dtype=np.uint16))
    return folder


def measured(folder: Path, function: str) -> dict[str, JsonValue]:
    stage = OwnMeasurementStage(
        architecture=sized(), name="mine", function=f"mine:{function}", length=8, sequences=2, device="cpu"
    )
    inputs = {name: folder / name for name in ("pretrained", "tokens")}
    with loaded(folder / "plugin"):
        return stage.compute(StageContext(inputs, folder, ProgressFile(folder / "progress")))


def test_a_number_that_an_encoder_leaves_undefined_has_no_value(folder: Path) -> None:
    assert measured(folder, "shape") == {"name": "mine", "values": {"shape.rows": 2.0}}
    assert measured(folder, "undefined") == {"name": "mine", "values": {}}


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (
            "beyond",
            "IndexError: index 2 is out of bounds for dimension 0 with size 2 (tasks/own_measurements/mine.py:9)",
        ),
        ("ends", "SystemExit: 3 (tasks/own_measurements/mine.py:12)"),
        ("words", "ValueError: mine:words: it returned 'many' for 'words'; a finite number up to 1e+100"),
    ],
)
def test_a_function_that_fails_fails_its_stage_alone(folder: Path, function: str, error: str) -> None:
    with loaded(folder / "plugin"):
        try:
            measured(folder, function)
        except (Exception, SystemExit) as raised:
            told = failure(raised)
        else:
            told = {}
    assert str(told["error"]).startswith(error)
    assert told["exit_code"] is None
