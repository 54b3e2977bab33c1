"""Fine-tuning on pairs of texts: copies are learned and scored, and `generate` writes what the stage wrote."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from torch import nn

from runners.computing import generated_texts
from runners.computing.examples import encode_part
from runners.scoring import part_scores
from runners.stages.context import Diverged, ProgressFile, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import save_weights
from search_space.architecture import Architecture
from steeplechase.commands.generation import Search, texts_of
from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.checkpoints import TunedTrial
from steeplechase.ledger.result_files import CHECKPOINT, example_scores_file, predictions_file
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import Example
from tests.factories.encoder_decoders import architecture
from tests.factories.small_experiments import WORDS

TASK, LENGTH = find_task("multi30k_de_en"), 8
ARM = architecture(
    "transformer", depth=1, decoder_depth=1, width=32, feed_forward_width=64, vocabulary_size=WORDS.vocabulary_size,
    normalisation={"kind": "pre_norm", "embedding": False},
)  # fmt: skip


STACK = Architecture.model_validate(
    {
        "depth": 1, "width": 32, "embedding_width": 32, "heads": 4, "feed_forward_width": 64, "segments": 6,
        "positions": 2 * LENGTH, "vocabulary_size": WORDS.vocabulary_size,
    }
)  # fmt: skip


def pairs(count: int, seed: int) -> list[Example]:
    """Return sources of four words, whose targets are the sources."""
    words = np.random.default_rng(seed).integers(0, 8, (count, 4))
    texts = (" ".join(f"w{word}" for word in row) for row in words)
    return [Example(text, text) for text in texts]


def stage(rate: float, epochs: int, architecture: Architecture = ARM) -> FineTuneStage:
    return FineTuneStage(
        architecture=architecture, task=TASK.name, pretraining_seed=1, seed=1, epochs=epochs, batch_examples=32,
        peak_learning_rate=rate, warmup_share=0.1, weight_decay=0.0, dropout=0.0,
    )  # fmt: skip


def tuned(
    folder: Path, rate: float = 1e-2, epochs: int = 12, train: int = 600, architecture: Architecture = ARM
) -> dict[str, JsonValue]:
    for part, count in (("train", train), ("dev", 40), ("test", 10)):
        (folder / "examples" / part).mkdir(parents=True)
        encode_part(TASK, pairs(count, len(part)), WORDS, LENGTH, folder / "examples" / part)
    model = nn.ModuleDict({"encoder": build_encoder(architecture, 0.0)})
    if architecture is not ARM:
        model["head"] = MaskedLanguageModelHead(architecture)
    initialise(model, 1)
    save_weights(folder / CHECKPOINT, model)
    (folder / "tokens").mkdir()
    WORDS.save(folder / "tokens")
    (folder / "work").mkdir()
    inputs = {"examples": folder / "examples", "pretrained": folder, "tokens": folder / "tokens"}
    context = StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))
    return generated_texts.compute(stage(rate, epochs, architecture), context)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, JsonValue]]:
    folder = tmp_path_factory.mktemp("pairs")
    return folder, tuned(folder)


def test_copies_are_learned_and_scored_by_the_driver(finished: tuple[Path, dict[str, JsonValue]]) -> None:
    folder, result = finished
    assert (result["examples"], result["others"]) == (40, {"test": 10})
    texts = json.loads((folder / "work" / predictions_file("dev")).read_text())
    equal = np.mean([text == pair.second for text, pair in zip(texts, pairs(40, 3), strict=True)])
    assert equal > 0.9
    found = part_scores(TASK, folder / "examples", folder / "work", None)
    assert found["scores"]["bleu"] > 90  # type: ignore[index, call-overload, operator]
    assert (folder / "work" / example_scores_file("test")).is_file()


def test_generate_writes_the_texts_of_the_stage(finished: tuple[Path, dict[str, JsonValue]]) -> None:
    folder, _ = finished
    trial = TunedTrial("baseline/1", TASK.name, ARM, folder / "work", folder / "tokens")
    sources = [pair.first for pair in pairs(40, 3)]
    texts = json.loads((folder / "work" / predictions_file("dev")).read_text())
    assert texts_of(trial, sources, Search(1, 0.0, LENGTH), "lines.txt") == texts
    beams = texts_of(trial, sources, Search(3, 0.6, LENGTH), "lines.txt")
    assert np.mean([beam == text for beam, text in zip(beams, texts, strict=True)]) > 0.9


def test_generate_refuses_more_beams_than_tokens(finished: tuple[Path, dict[str, JsonValue]]) -> None:
    folder, _ = finished
    trial = TunedTrial("baseline/1", TASK.name, ARM, folder / "work", folder / "tokens")
    size = ARM.vocabulary_size
    assert len(texts_of(trial, ["a"], Search(size, 0.6, 2), "lines.txt")) == 1
    with pytest.raises(ConfigurationError) as refused:
        texts_of(trial, ["a"], Search(size + 1, 0.6, 2), "lines.txt")
    assert refused.value.lines == (f"--beams: {size + 1} beams of a vocabulary of {size}; allowed: 1 to {size}",)


def test_a_stack_without_a_decoder_writes_texts_that_generate_repeats(tmp_path: Path) -> None:
    """UNILM's fine-tuning: one stack with six segments, whose source and target are one sequence."""
    result = tuned(tmp_path, epochs=3, train=200, architecture=STACK)
    texts = json.loads((tmp_path / "work" / predictions_file("dev")).read_text())
    assert (result["examples"], len(texts)) == (40, 40)
    assert result["target_losses"]["dev"] < math.log(WORDS.vocabulary_size)  # type: ignore[index, call-overload, operator]
    trial = TunedTrial("baseline/1", TASK.name, STACK, tmp_path / "work", tmp_path / "tokens")
    assert texts_of(trial, [pair.first for pair in pairs(40, 3)], Search(1, 0.0, LENGTH), "lines.txt") == texts
    with pytest.raises(DataError) as refused:
        texts_of(trial, ["word " * 1000] * 30, Search(1, 0.0, LENGTH), "lines.txt")
    assert refused.value.lines[0].startswith("lines.txt:1: ")
    assert refused.value.lines[-1] == "lines.txt: 10 more lines that are too long"


def test_a_rate_that_is_too_high_ends_as_a_diverged_trial(tmp_path: Path) -> None:
    with pytest.raises(Diverged) as stopped:
        tuned(tmp_path, rate=1e38, epochs=1)
    assert stopped.value.result["task"] == TASK.name
