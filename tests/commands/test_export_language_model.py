"""GPT and XLNet with their output layers: equal logits in transformers, weights that come back, what is left out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from search_space.candidate import Candidate
from search_space.objective import LanguageModel, PermutationLanguageModel
from search_space.output_layer import EmbeddingTable
from search_space.recipe import Recipe
from steeplechase.commands.huggingface.export_folder import Exported, _head, notes_on, write
from steeplechase.configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from steeplechase.models.attention_context import AttentionContext, PredictionOrder
from steeplechase.models.segment_memory import read_streams
from steeplechase.tasks.objectives import build_model
from tests.factories.command_calls import Call
from tests.factories.local_models import GPT, LARGEST_DIFFERENCE, XLNET, transformers
from tests.factories.parity import distance, nudged
from tests.factories.small_experiments import stir

LENGTH = 11
OBJECTIVE = LanguageModel(output_layer=EmbeddingTable())


def exported(objective: LanguageModel | PermutationLanguageModel, folder: Path) -> tuple[Any, Exported]:
    """Return our model, with every weight in play, and what was exported of it into a folder."""
    architecture = GPT if isinstance(objective, LanguageModel) else XLNET
    candidate = Candidate(architecture=architecture, objective=objective, recipe=Recipe(dropout=0.0))
    model = build_model(candidate, None, 1)
    stir(model)
    weights = {name.removeprefix("encoder."): value.detach() for name, value in model.named_parameters()}
    source = Exported("a model", architecture, 0.0, weights, {}, None, _head(objective))
    write(source, [*notes_on(source)], folder)
    return model.eval(), source


def tokens() -> Tensor:
    return torch.randint(5, GPT.vocabulary_size, (3, LENGTH), generator=torch.Generator().manual_seed(2))


def check_every_tensor(theirs: nn.Module, logits: Callable[[], Tensor], expected: Tensor) -> None:
    """Check that logits are those expected, and that a change of any tensor is noticed."""
    assert distance(logits(), expected) <= LARGEST_DIFFERENCE
    for name in nudged(theirs.named_parameters()):
        assert distance(logits(), expected) > LARGEST_DIFFERENCE, name


@torch.no_grad()
def test_logits_of_gpt_equal_those_of_transformers(tmp_path: Path) -> None:
    ours, _ = exported(OBJECTIVE, tmp_path / "out")
    theirs = transformers().OpenAIGPTLMHeadModel.from_pretrained(tmp_path / "out").eval()
    expected = ours.head(ours.encoder(tokens()).flatten(0, 1), ours.token_table)
    check_every_tensor(theirs, lambda: theirs(tokens()).logits.flatten(0, 1), expected)


@torch.no_grad()
def test_logits_of_xlnet_equal_those_of_transformers(tmp_path: Path) -> None:
    ours, _ = exported(PermutationLanguageModel(), tmp_path / "out")
    theirs = transformers().XLNetLMHeadModel.from_pretrained(tmp_path / "out").eval()
    random = torch.Generator().manual_seed(2)
    drawn = torch.stack([torch.randperm(LENGTH, generator=random)[:4] for _ in tokens()])
    ranks = torch.zeros_like(tokens()).scatter(1, drawn, torch.arange(1, 5).expand(3, -1))
    order, segments = PredictionOrder(ranks, drawn), torch.randint(2, tokens().shape, generator=random)
    streams = read_streams(ours.encoder, tokens(), AttentionContext(order=order, segments=segments))
    expected = ours.head(streams.query.flatten(0, 1), ours.token_table)
    hides = (order.ranks[:, :, None] <= order.ranks[:, None, :]) & (order.ranks[:, None, :] > 0)
    asked = nn.functional.one_hot(order.positions, LENGTH).float()
    given = {"perm_mask": hides.float(), "target_mapping": asked, "token_type_ids": segments}
    check_every_tensor(theirs, lambda: theirs(tokens(), **given).logits.flatten(0, 1), expected)


def test_an_exported_xlnet_is_imported_with_equal_weights(call: Call, tmp_path: Path) -> None:
    _, source = exported(PermutationLanguageModel(), tmp_path / "out")
    answer = call("import", tmp_path / "out", tmp_path / "start")
    assert answer.code == 0, answer.err
    assert "left out, not part of an encoder: lm_loss.bias" in answer.err
    start = read_initial_checkpoint(tmp_path / "start")
    assert start.architecture == XLNET
    weights = load_file(tmp_path / "start" / WEIGHTS)
    encoder = {name: value for name, value in source.weights.items() if not name.startswith("head.")}
    assert weights.keys() == encoder.keys()
    assert all(torch.equal(weights[name], value) for name, value in encoder.items())
