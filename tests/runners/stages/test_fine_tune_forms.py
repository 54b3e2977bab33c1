"""Fine-tuning on multiple choice and on tagged words: predictions, scores of the driver, missed entities."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from runners.computing import fine_tune
from runners.computing.examples import encode_part
from runners.scoring import part_scores
from runners.stages.context import ProgressFile, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers.adamw import adamw
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.result_files import CHECKPOINT, example_scores_file, predictions_file
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.scoring import score_tags
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.labelled.words import load_words
from tests.factories.small_experiments import WORDS, architecture, convolutions

ARM = architecture(convolutions()[-1])
RANDOM = np.random.default_rng(7)
LENGTH = 10


def text(numbers: NDArray[np.int64]) -> str:
    return " ".join(f"w{number}" for number in numbers)


def choice() -> Example:
    """Return a choice whose right ending alone has w30."""
    label = int(RANDOM.integers(4))
    endings = [text(RANDOM.integers(0, 20, 3)) for _ in range(4)]
    endings[label] = f"w30 {endings[label]}"
    return Example(text(RANDOM.integers(0, 20, 2)), label=label, endings=tuple(endings))


def sentence(words: int) -> Example:
    """Return a sentence in which w30 and above are entities of one word each."""
    numbers = RANDOM.integers(24, 35, words)
    return Example(text(numbers), tags=tuple(1 if number >= 30 else 0 for number in numbers))


def tuned(task: str, parts: dict[str, list[Example]], folder: Path) -> tuple[Path, dict[str, JsonValue]]:
    """Fine-tune on the parts, and return the folder of predictions and the result."""
    for part, examples in parts.items():
        (folder / "examples" / part).mkdir(parents=True)
        encode_part(find_task(task), examples, WORDS, LENGTH, folder / "examples" / part)
    found = find_task(task)
    model = build_fine_tuned(ARM, found.form, found.outputs, "first", 0.1)
    initialise(model, 1)
    save_checkpoint(folder / CHECKPOINT, model, adamw(model, 0.0), {})
    (folder / "work").mkdir()
    stage = FineTuneStage(
        architecture=ARM,
        task=task,
        pretraining_seed=1,
        seed=1,
        epochs=30,
        batch_examples=16,
        peak_learning_rate=5e-3,
        weight_decay=0.0,
        dropout=0.0,
    )
    inputs = {"examples": folder / "examples", "pretrained": folder}
    context = StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))
    return folder / "work", fine_tune.compute(stage, context)


def scores_of(task: str, folder: Path, search: FineTuningRun | None = None) -> dict[str, Any]:
    return part_scores(find_task(task), folder / "examples", folder / "work", search)


def test_a_choice_is_learned_and_scored_by_the_driver(tmp_path: Path) -> None:
    parts = {part: [choice() for _ in range(count)] for part, count in (("train", 80), ("dev", 60), ("test", 20))}
    work, result = tuned("codah", parts, tmp_path)
    assert result["examples"] == 60
    assert result["others"] == {"test": 20}
    predictions = json.loads((work / predictions_file("dev")).read_text())
    correct = [prediction == example.label for prediction, example in zip(predictions, parts["dev"], strict=True)]
    found = scores_of("codah", tmp_path)
    assert found["scores"] == {"accuracy": pytest.approx(100 * np.mean(correct))}
    assert found["scores"]["accuracy"] > 90  # chance is 25
    assert "scores test" in found
    assert (work / example_scores_file("test")).is_file()


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Example]]]:
    folder = tmp_path_factory.mktemp("tagged")
    parts = {part: [sentence(int(RANDOM.integers(2, 8))) for _ in range(80)] for part in ("train", "dev")}
    parts["test"] = [sentence(20) for _ in range(10)]  # eight words fit
    _, result = tuned("conll2003", parts, folder)
    assert result["examples"] == 80
    return folder, parts


def test_tags_are_learned_and_scored_by_words(tagged: tuple[Path, dict[str, list[Example]]]) -> None:
    folder, parts = tagged
    found = scores_of("conll2003", folder)
    assert found["scores"]["entity_f1"] > 90
    predictions = json.loads((folder / "work" / predictions_file("dev")).read_text())
    assert len(predictions) == sum(len(example.tags) for example in parts["dev"])
    words = load_words(folder / "examples" / "dev")
    assert found["scores"] == score_tags(find_task("conll2003"), predictions, words.tags, words.sentences)


def test_entities_of_truncated_words_are_missed(tagged: tuple[Path, dict[str, list[Example]]]) -> None:
    folder, parts = tagged
    found = scores_of("conll2003", folder)["scores test"]
    kept = sum(sum(example.tags[: LENGTH - 2]) for example in parts["test"])
    entities = sum(sum(example.tags) for example in parts["test"])
    assert found["entity_recall"] <= 100 * kept / entities
    assert found["entity_precision"] > 90
    predictions = json.loads((folder / "work" / predictions_file("test")).read_text())
    by_sentence = np.reshape(predictions, (10, 20))
    assert not by_sentence[:, LENGTH - 2 :].any()


def test_a_search_scores_the_sentences_of_its_halves(tagged: tuple[Path, dict[str, list[Example]]]) -> None:
    folder, _ = tagged
    search = FineTuningRun("conll2003", 1, FineTuning(), {"epochs": 3}, "held_out_half")
    found = scores_of("conll2003", folder, search)
    assert found["choice"]["n"] + found["choice"]["reported"] == 80
    assert found["choice"]["n"] in range(30, 41)  # equal sentences are in one half
    both = scores_of("conll2003", folder)["scores"]["entity_f1"]
    halves = sorted((found["choice"]["score"], found["scores"]["entity_f1"]))
    assert halves[0] <= both <= halves[1]
