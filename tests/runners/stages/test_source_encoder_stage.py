"""Fine-tuning from a new source encoder: the stage's weights, its own vocabulary, and what `generate` reads."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from runners.computing import generated_texts
from runners.computing.examples import encode_part
from runners.stages.context import ProgressFile, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import WEIGHTS, save_weights
from steeplechase.commands.generation import Search, texts_of
from steeplechase.configuration.fine_tuning import SourceEncoder, TextGeneration
from steeplechase.ledger.checkpoints import TunedTrial
from steeplechase.ledger.result_files import CHECKPOINT, SOURCE_TOKENIZER, predictions_file
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.tokenizer import WordOption
from tests.factories.encoder_decoders import architecture
from tests.factories.small_experiments import WORDS

TASK, LENGTH, OWN_SIZE = find_task("multi30k_de_en"), 8, 13
ARM = architecture(
    "bart", depth=1, decoder_depth=1, width=32, feed_forward_width=64, vocabulary_size=WORDS.vocabulary_size
)


def pairs(count: int, seed: int) -> list[Example]:
    """Return sources of three words of another language, one for each word of the target."""
    words = np.random.default_rng(seed).integers(0, 8, (count, 3))
    return [Example(" ".join(f"v{word}" for word in row), " ".join(f"w{word}" for word in row)) for row in words]


def finished(folder: Path, *, own_vocabulary: bool, **settings: float) -> FineTuneStage:
    """Compute a stage in folder/work, from JSON as a worker does; the pretrained weights are initial ones."""
    own = WordOption().tokenizer([pair.first for pair in pairs(60, 1)], OWN_SIZE) if own_vocabulary else None
    for part, count in (("train", 60), ("dev", 12)):
        (folder / "examples" / part).mkdir(parents=True)
        encode_part(TASK, pairs(count, len(part)), WORDS, LENGTH, folder / "examples" / part, own)
    if own is not None:
        (folder / "examples" / SOURCE_TOKENIZER).mkdir()
        own.save(folder / "examples" / SOURCE_TOKENIZER)
    model = nn.ModuleDict({"encoder": build_encoder(ARM, 0.0)})
    initialise(model, 1)
    save_weights(folder / CHECKPOINT, model)
    (folder / "tokens").mkdir()
    WORDS.save(folder / "tokens")
    (folder / "work").mkdir()
    new = SourceEncoder(depth=1, vocabulary_size=OWN_SIZE if own_vocabulary else None, **settings)  # type: ignore[arg-type]
    declared = FineTuneStage(
        architecture=ARM, task=TASK.name, pretraining_seed=1, seed=1, epochs=2, batch_examples=20, weight_decay=0.0,
        peak_learning_rate=1e-2, dropout=0.0, generation=TextGeneration(source_encoder=new, longest_output=5),
    )  # fmt: skip
    inputs = {"examples": folder / "examples", "pretrained": folder, "tokens": folder / "tokens"}
    context = StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))
    stage = FineTuneStage.model_validate_json(declared.model_dump_json())
    assert stage == declared
    result = generated_texts.compute(stage, context)
    assert (result["examples"], result.get("others")) == (12, None), "the folder of a tokenizer is no part"
    return stage


def weights(folder: Path) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the pretrained and the trained weights by the pretrained model's names."""
    before = {
        name.removeprefix("encoder."): value for name, value in load_file(folder / CHECKPOINT / WEIGHTS).items()
    }
    after = load_file(folder / "work" / generated_texts.FINE_TUNED / WEIGHTS)
    after["embeddings.tokens.weight"] = after["decoder.embeddings.tokens.weight"]  # the tied table's first name
    return before, after


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_stored_weights_differ_where_a_stage_updates_them(share: float, tmp_path: Path) -> None:
    finished(tmp_path, own_vocabulary=True, first_stage_share=share)
    before, after = weights(tmp_path)
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    attention = {f"blocks.0.attention.{each}.weight" for each in ("query", "key", "value")}
    named = {"embeddings.positions.weight", "decoder.embeddings.positions.weight", *attention}
    assert changed == (named if share else set(before))
    assert after["embeddings.encoder.embeddings.tokens.weight"].shape == (OWN_SIZE, ARM.width)


@pytest.mark.parametrize("own_vocabulary", [True, False])
def test_generate_writes_the_texts_of_the_stage(own_vocabulary: bool, tmp_path: Path) -> None:
    finished(tmp_path, own_vocabulary=own_vocabulary)
    trial = TunedTrial("baseline/1", TASK.name, ARM, tmp_path / "work", tmp_path / "tokens")
    texts = json.loads((tmp_path / "work" / predictions_file("dev")).read_text())
    assert texts_of(trial, [pair.first for pair in pairs(12, 3)], Search(1, 0.0, 5), "sources.txt") == texts
    saved = (tmp_path / "work" / generated_texts.SOURCE_ENCODER / "tokenizer.json").exists()
    assert saved == own_vocabulary
