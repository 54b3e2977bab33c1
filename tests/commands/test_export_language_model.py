"""A GPT with its output layer loads in transformers with equal logits; other output layers are left out, and said."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from commands.huggingface.export_folder import notes_on, write
from commands.huggingface.export_source import Exported, _head
from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from search_space.output_layer import EmbeddingTable
from search_space.recipe import Recipe
from tasks.objectives import build_model
from tests.factories.local_models import GPT, LARGEST_DIFFERENCE, transformers
from tests.factories.small_experiments import stir

OBJECTIVE = LanguageModel(output_layer=EmbeddingTable())
NUDGE = 1e-3


def exported(objective: LanguageModel, folder: Path) -> tuple[Any, Exported]:
    """Return our model, with every weight in play, and what was exported of it into a folder."""
    model = build_model(Candidate(architecture=GPT, objective=objective, recipe=Recipe(dropout=0.0)), None, 1)
    stir(model)
    weights = {name.removeprefix("encoder."): value.detach() for name, value in model.named_parameters()}
    source = Exported("a GPT", GPT, 0.0, weights, {}, None, _head(objective))
    write(source, [*notes_on(source)], folder)
    return model.eval(), source


def tokens() -> Tensor:
    return torch.randint(5, GPT.vocabulary_size, (3, 11), generator=torch.Generator().manual_seed(2))


@torch.no_grad()
def test_logits_equal_those_of_transformers_and_a_change_of_any_tensor_is_noticed(tmp_path: Path) -> None:
    ours, _ = exported(OBJECTIVE, tmp_path / "out")
    theirs = transformers().OpenAIGPTLMHeadModel.from_pretrained(tmp_path / "out").eval()
    expected = ours.head(ours.encoder(tokens()).flatten(0, 1), ours.token_table)

    def distance() -> float:
        return float(
            (theirs(tokens()).logits.flatten(0, 1) - expected).abs().max() / max(1.0, float(expected.abs().max()))
        )

    assert distance() <= LARGEST_DIFFERENCE
    generator = torch.Generator().manual_seed(3)
    for name, parameter in theirs.named_parameters():
        kept = parameter.clone()
        parameter.add_(torch.randn(parameter.shape, generator=generator).sign(), alpha=NUDGE)
        assert distance() > LARGEST_DIFFERENCE, name
        parameter.copy_(kept)


def test_another_output_layer_is_left_out_with_a_note(tmp_path: Path) -> None:
    _, source = exported(LanguageModel(), tmp_path / "out")
    expected = "the encoder alone: transformers has no GPT with a head for language model (transformed)"
    assert expected in [*notes_on(source)]
    assert type(transformers().AutoModel.from_pretrained(tmp_path / "out")).__name__ == "OpenAIGPTModel"


@pytest.mark.parametrize("padding", [0, 3])
@torch.no_grad()
def test_a_padded_batch_has_the_logits_of_its_rows(tmp_path: Path, padding: int) -> None:
    ours, _ = exported(OBJECTIVE, tmp_path / "out")
    theirs = transformers().OpenAIGPTLMHeadModel.from_pretrained(tmp_path / "out").eval()
    real = torch.arange(11)[None].expand(3, -1) < 11 - padding
    found = ours.head(ours.encoder(tokens(), None, real)[real], ours.token_table)
    expected = theirs(tokens(), attention_mask=real.long()).logits[real]
    assert (found - expected).abs().max() <= LARGEST_DIFFERENCE * max(1.0, float(expected.abs().max()))
