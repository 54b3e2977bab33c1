"""The measurement of mimicked embeddings: which stages it adds, what it returns, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from runners.dag import shared_stages, trial_stages
from runners.stage_labels import all_labels
from runners.stages.context import ProgressFile, StageContext
from runners.stages.rare_words import RareWordsStage
from runners.stages.word_embeddings import EMBEDDINGS, WordEmbeddingsStage
from runners.training.checkpoint import save_checkpoint
from search_space.architecture import Architecture
from search_space.rare_words import RareWords, Variant
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.rare_words import RareWordsResult, WordEmbeddingsResult
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Status
from steeplechase.ledger.rows import read_result
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.rare_words import add_words
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS
from tests.factories import simulated_training as simulated

WORDS = [
    f"{stem}{ending}" for stem in ("walk", "talk", "jump", "sing", "read") for ending in ("s", "ing", "er", "ers")
]
TOKENIZER = WordPiece([*SPECIAL_TOKENS, ":", *WORDS], lowercase=True)
ENCODER = Architecture(
    depth=1,
    width=16,
    embedding_width=8,
    heads=2,
    feed_forward_width=16,
    vocabulary_size=TOKENIZER.vocabulary_size,
    positions=32,
)


class _Pretrained(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(ENCODER, 0.0)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of a pretrained encoder and of the tokens of a text."""
    folder = tmp_path_factory.mktemp("inputs")
    for name in ("pretrained", "tokens"):
        (folder / name).mkdir()
    model = _Pretrained()
    initialise(model, 1)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    save_checkpoint(folder / "pretrained" / "checkpoint", model, optimiser, {})
    TOKENIZER.save(folder / "tokens")
    random = np.random.default_rng(1)
    first = len(SPECIAL_TOKENS) + 1
    text = random.integers(first, TOKENIZER.vocabulary_size, 600).astype(np.uint16)
    text[::12] = TOKENIZER.separate
    np.save(folder / "tokens" / "train.npy", text)
    return {name: folder / name for name in ("pretrained", "tokens")}


def stage(variant: Variant, **fields: Any) -> RareWordsStage:
    """Return the stage of a variant, with few epochs."""
    settings = RareWords(variant=variant, ngram_words=2, most_contexts=4, form_epochs=2, context_epochs=1)
    document = {"occurrences": 8, "text_tokens": 600, "most_words": 20, "held_out_share": 0.25, "seed": 1, **fields}
    return RareWordsStage(architecture=ENCODER, settings=settings, **document)


def computed(declared: RareWordsStage, inputs: dict[str, Path], folder: Path) -> dict[str, JsonValue]:
    """Compute a stage."""
    return declared.compute(StageContext(inputs, folder, ProgressFile(folder / "progress.json")))


@pytest.mark.parametrize("variant", ["form", "context", "add"])
def test_every_variant_gives_a_result_that_a_ledger_can_hold(
    variant: Variant, inputs: dict[str, Path], tmp_path: Path
) -> None:
    found = computed(stage(variant), inputs, tmp_path)
    assert computed(stage(variant), inputs, tmp_path) == found
    result = read_result("rare_words", Status.FINISHED, json.dumps(found))
    assert isinstance(result, RareWordsResult)
    assert (result.taught, result.held_out, result.variant) == (15, 5, variant)
    assert result.as_json == found
    stages = {"form": ["form"], "context": ["context"]}.get(variant, ["combination", "context", "form"])
    assert sorted(result.training_error) == stages


def experiment(folder: Path, **parts: Any) -> Experiment:
    """Return a small experiment of one arm beside the baseline."""
    return simulated.experiment(folder, design={"kind": "list", "arms": {"wide": {"width": 64}}}, **parts)


def test_the_measurement_adds_a_stage_per_variant_and_changes_no_other(tmp_path: Path) -> None:
    variants = {"add": {"variant": "add"}, "plain": {"variant": "form"}}
    plain, measured = experiment(tmp_path), experiment(tmp_path, measure={"rare_words": {"variants": variants}})
    before, after = (trial_stages(each, shared_stages(each), each.baseline, 1) for each in (plain, measured))
    added = {label: stage for label, stage in after.items() if label not in before}
    assert [*added] == ["rare_words add", "rare_words plain"]
    assert {label: after[label].key for label in before} == {label: stage.key for label, stage in before.items()}
    assert len({stage.key for stage in added.values()}) == 2
    assert {*all_labels(measured)} - {*all_labels(plain)} == {*added}


def embeddings_stage(variant: Variant) -> WordEmbeddingsStage:
    """Return the stage that embeds the rare words of a task."""
    settings = RareWords(variant=variant, ngram_words=2, most_contexts=4, form_epochs=2, context_epochs=1)
    limits = {"occurrences": 8, "text_tokens": 600, "most_words": 20}
    return WordEmbeddingsStage(architecture=ENCODER, task="rare", settings=settings, seed=1, **limits)


@pytest.mark.parametrize("variant", ["form", "add"])
def test_rare_words_of_examples_get_embeddings_that_fine_tuning_reads(
    variant: Variant, inputs: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "rare_words.json").write_text(json.dumps(["walks", "talker", "xylo"]))
    context = StageContext({**inputs, "examples": tmp_path}, tmp_path, ProgressFile(tmp_path / "progress.json"))
    if variant == "add":
        (tmp_path / "rare_words.json").write_text(json.dumps(["walks", "xyloer"]))
        with pytest.raises(DataError, match="no context: xylo"):
            embeddings_stage(variant).compute(context)
        (tmp_path / "rare_words.json").write_text(json.dumps(["walks", "talker", "reads"]))
    found = embeddings_stage(variant).compute(context)
    result = read_result("word_embeddings", Status.FINISHED, json.dumps(found))
    assert isinstance(result, WordEmbeddingsResult)
    assert (result.taught, result.words, result.without_ngram) == (20, 3, int(variant == "form"))
    words = torch.from_numpy(np.load(tmp_path / EMBEDDINGS))
    assert words.shape == (3, 8)
    assert words.isfinite().all()


def test_words_behind_the_table_are_read_and_never_trained() -> None:
    torch.manual_seed(1)
    encoder = Encoder(ENCODER, 0.0).eval()
    tokens = torch.tensor([[5, 6, 7]])
    plain, names = encoder(tokens), [name for name, _ in encoder.named_parameters()]
    add_words(encoder, encoder.embeddings.tokens.weight.detach()[[6, 9]].clone())
    assert [name for name, _ in encoder.named_parameters()] == names
    size = ENCODER.vocabulary_size
    assert torch.equal(encoder(torch.tensor([[5, size, 7]])), plain)
    assert not torch.equal(encoder(torch.tensor([[5, size + 1, 7]])), plain)
    encoder(torch.tensor([[5, size, 7]])).sum().backward()
    gradient = encoder.embeddings.tokens.weight.grad
    assert gradient is not None
    assert [row for row in range(size) if gradient[row].any()] == [5, 7]
