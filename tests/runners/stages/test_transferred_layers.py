"""Transferred layers (GPT, Figure 2): the first blocks and the embeddings are copied, the rest starts anew."""

from pathlib import Path
from typing import cast

import pytest
import torch

from runners.computing.fine_tune import load_pretrained
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers import build_optimiser
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.normalisation import PreNorm
from search_space.objective import LanguageModel
from search_space.output_layer import Transformed
from search_space.output_layer.option import OutputLayerOption
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.language_model_loss import WithLanguageModel
from steeplechase.models.output_layer import build_output_layer
from steeplechase.tasks.objectives import build_model
from tests.factories.small_experiments import stir

DEPTH = 3
ARCHITECTURE = Architecture(
    depth=DEPTH, width=16, embedding_width=8, heads=2, feed_forward_width=24, vocabulary_size=40,
    visibility="left_to_right", normalisation=PreNorm(),
)  # fmt: skip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkpoint of a language model far from its initial weights."""
    candidate = Candidate(architecture=ARCHITECTURE, objective=LanguageModel())
    model = build_model(candidate, None, 1)
    stir(model)
    folder = tmp_path_factory.mktemp("checkpoint") / "checkpoint"
    save_checkpoint(folder, model, build_optimiser(model, candidate.recipe), {})
    return folder


def stage(layers: int | None, output_layer: OutputLayerOption | None = None) -> FineTuneStage:
    return FineTuneStage(
        architecture=ARCHITECTURE, task="docs_pair", pretraining_seed=1, seed=1, transferred_layers=layers,
        output_layer=output_layer, language_model_weight=0.5 if output_layer else 0.0,
    )  # fmt: skip


def loaded(checkpoint: Path, layers: int | None) -> tuple[Encoder, Encoder, Encoder]:
    """Return the encoder that fine-tuning starts with, the fresh one and the pretrained one."""
    built, fresh, whole = (build_fine_tuned(ARCHITECTURE, "single", 2, "last", 0.0) for _ in range(3))
    for model in (built, fresh):
        initialise(model, 7)
    load_pretrained(stage(layers), checkpoint, built)
    load_pretrained(stage(None), checkpoint, whole)
    return built.encoder, fresh.encoder, whole.encoder


@pytest.mark.parametrize("layers", [0, 1, DEPTH, None])
def test_exactly_the_first_layers_and_the_embeddings_are_copied(checkpoint: Path, layers: int | None) -> None:
    found, fresh, pretrained = (dict(each.named_parameters()) for each in loaded(checkpoint, layers))
    for name, value in found.items():
        copied = name.startswith(("embeddings.", "projection."))
        if name.startswith("blocks."):
            copied = layers is None or int(name.split(".")[1]) < layers
        if name.startswith("final_norm."):
            copied = layers in (None, DEPTH)
        assert torch.equal(value, (pretrained if copied else fresh)[name]), name
        assert not torch.equal(pretrained[name], fresh[name]), "the comparison can fail"


def test_the_output_layer_is_the_pretrained_one(checkpoint: Path) -> None:
    built = build_fine_tuned(ARCHITECTURE, "single", 2, "last", 0.0)
    model = WithLanguageModel(
        built.encoder, built.head, 2, build_output_layer(Transformed(), ARCHITECTURE), weight=0.5
    )
    initialise(model, 7)
    before = {name: value.clone() for name, value in model.output_layer.named_parameters()}
    load_pretrained(stage(None, Transformed()), checkpoint, model)
    assert all(not torch.equal(value, before[name]) for name, value in model.output_layer.named_parameters())
    assert cast("torch.nn.Parameter", model.head.get_parameter("labels.weight")).isfinite().all()
