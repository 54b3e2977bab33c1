"""An XLNet with its output layer loads in transformers with equal logits, and comes back with equal weights."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from commands.huggingface.export_folder import notes_on, write
from commands.huggingface.export_source import Exported, _head
from configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from models.attention_context import AttentionContext, PredictionOrder
from models.segment_memory import read_streams
from search_space.candidate import Candidate
from search_space.objective import PermutationLanguageModel
from search_space.output_layer import EmbeddingTable
from search_space.recipe import Recipe
from tasks.objectives import build_model
from tests.factories.command_calls import Call
from tests.factories.local_models import LARGEST_DIFFERENCE, XLNET, transformers
from tests.factories.small_experiments import stir

LENGTH = 11
NUDGE = 1e-3


def exported(folder: Path, objective: PermutationLanguageModel | None = None) -> tuple[Any, Exported]:
    """Return our model, with every weight in play, and what was exported of it into a folder."""
    objective = objective or PermutationLanguageModel()
    model = build_model(Candidate(architecture=XLNET, objective=objective, recipe=Recipe(dropout=0.0)), None, 1)
    stir(model)
    weights = {name.removeprefix("encoder."): value.detach() for name, value in model.named_parameters()}
    source = Exported("an XLNet", XLNET, 0.0, weights, {}, None, _head(objective))
    write(source, [*notes_on(source)], folder)
    return model.eval(), source


def inputs() -> tuple[Tensor, Tensor, PredictionOrder]:
    random = torch.Generator().manual_seed(2)
    tokens = torch.randint(5, XLNET.vocabulary_size, (3, LENGTH), generator=random)
    drawn = torch.stack([torch.randperm(LENGTH, generator=random)[:4] for _ in tokens])
    ranks = torch.zeros_like(tokens).scatter(1, drawn, torch.arange(1, 5).expand(3, -1))
    return tokens, torch.randint(2, tokens.shape, generator=random), PredictionOrder(ranks, drawn)


@torch.no_grad()
def test_logits_equal_those_of_transformers_and_a_change_of_any_tensor_is_noticed(tmp_path: Path) -> None:
    ours, _ = exported(tmp_path / "out")
    theirs = transformers().XLNetLMHeadModel.from_pretrained(tmp_path / "out").eval()
    tokens, segments, order = inputs()
    streams = read_streams(ours.encoder, tokens, AttentionContext(order=order, segments=segments))
    expected = ours.head(streams.query.flatten(0, 1), ours.token_table)
    hides = (order.ranks[:, :, None] <= order.ranks[:, None, :]) & (order.ranks[:, None, :] > 0)

    def distance() -> float:
        asked = nn.functional.one_hot(order.positions, LENGTH).float()
        given = {"perm_mask": hides.float(), "target_mapping": asked, "token_type_ids": segments}
        found = theirs(tokens, **given).logits.flatten(0, 1)
        return float((found - expected).abs().max() / max(1.0, float(expected.abs().max())))

    assert distance() <= LARGEST_DIFFERENCE
    random = torch.Generator().manual_seed(3)
    for name, parameter in theirs.named_parameters():
        kept = parameter.clone()
        parameter.add_(torch.randn(parameter.shape, generator=random).sign(), alpha=NUDGE)
        assert distance() > LARGEST_DIFFERENCE, name
        parameter.copy_(kept)


def test_an_exported_model_is_imported_with_equal_weights(call: Call, tmp_path: Path) -> None:
    _, source = exported(tmp_path / "out")
    answer = call("import", tmp_path / "out", tmp_path / "start")
    assert answer.code == 0, answer.err
    assert "left out, not part of an encoder: lm_loss.bias" in answer.err
    start = read_initial_checkpoint(tmp_path / "start")
    assert start.architecture == XLNET
    weights = load_file(tmp_path / "start" / WEIGHTS)
    encoder = {name: value for name, value in source.weights.items() if not name.startswith("head.")}
    assert weights.keys() == encoder.keys()
    assert all(torch.equal(weights[name], value) for name, value in encoder.items())


@pytest.mark.parametrize("biases", [False, True])
def test_an_output_layer_without_biases_is_left_out_with_a_note(tmp_path: Path, biases: bool) -> None:
    _, source = exported(tmp_path / "out", PermutationLanguageModel(output_layer=EmbeddingTable(biases=biases)))
    left_out = "transformers has no XLNet with a head for permutation language model (embeddings without biases)"
    assert (f"the encoder alone: {left_out}" in [*notes_on(source)]) != biases
    assert type(transformers().AutoModel.from_pretrained(tmp_path / "out")).__name__ == "XLNetModel"
