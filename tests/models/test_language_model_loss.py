"""A language model's loss beside a task (GPT): its value, its gradients, and the readout of the last token."""

from typing import get_args

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.output_layer import EmbeddingTable, Transformed
from steeplechase.models.downstream_model import Form, build_fine_tuned
from steeplechase.models.heads.classification import ClassificationHead
from steeplechase.models.initialisation import initialise
from steeplechase.models.language_model_loss import WithLanguageModel
from steeplechase.models.output_layer import build_output_layer
from tests.factories.small_experiments import stir

LENGTHS, LENGTH, VOCABULARY = (9, 5, 1), 9, 40
ABSENT = 39  # a token that is in no example


def architecture(visibility: str) -> Architecture:
    sizes = {"depth": 2, "width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 24}
    return Architecture.model_validate({**sizes, "vocabulary_size": VOCABULARY, "visibility": visibility})


def model_of(
    form: Form, weight: float, visibility: str = "left_to_right", option: object = None
) -> WithLanguageModel:
    built = build_fine_tuned(architecture(visibility), form, 3, "last", 0.0)
    head = build_output_layer(option or EmbeddingTable(), built.encoder.architecture)
    model = WithLanguageModel(built.encoder, built.head, built.outputs, head, weight)
    initialise(model, 1)
    stir(model)
    return model.double().eval()


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    tokens = torch.randint(5, ABSENT, (len(LENGTHS), LENGTH), generator=torch.Generator().manual_seed(1))
    return tokens, torch.zeros_like(tokens), torch.arange(LENGTH) < torch.tensor(LENGTHS)[:, None]


def answers(form: Form) -> Tensor:
    rows = {"choice": 1, "span": 3, "windows": 3, "tags": 3}.get(form, 3)
    columns = {"span": 2, "windows": 2, "tags": LENGTH}.get(form, 1)
    return torch.zeros(rows, columns, dtype=torch.long)


@pytest.mark.parametrize("visibility", ["left_to_right", "right_to_left"])
@pytest.mark.parametrize("form", get_args(Form))
def test_the_loss_is_the_sum_of_both_by_a_loop_over_tokens(form: Form, visibility: str) -> None:
    model, plain = (model_of(form, weight, visibility) for weight in (0.5, 0.0))
    tokens, segments, real = inputs()
    x, table, losses = model.encoder(tokens, segments, real), model.encoder.embeddings.tokens.weight, []
    for row, length in enumerate(LENGTHS):
        for place in range(length - 1):
            read, predicted = (place, place + 1) if visibility == "left_to_right" else (place + 1, place)
            losses.append(cross_entropy(table @ x[row, read], tokens[row, predicted]))
    expected = plain.loss(*inputs(), answers(form)) + 0.5 * torch.stack(losses).mean()
    assert model.loss(*inputs(), answers(form)).item() == pytest.approx(expected.item(), abs=1e-6)


def test_a_batch_without_a_predicted_token_has_the_tasks_loss_and_finite_gradients() -> None:
    model = model_of("single", 0.5, option=Transformed())
    tokens, segments, _ = inputs()
    real = torch.arange(LENGTH).expand(3, -1) < 1
    loss = model.loss(tokens, segments, real, answers("single"))
    loss.backward()
    assert loss.item() == pytest.approx(model.loss_of(model(tokens, segments, real), answers("single")).item())
    assert all(each.grad is None or bool(each.grad.isfinite().all()) for each in model.parameters())


def test_the_last_token_is_read_wherever_it_stands() -> None:
    head = ClassificationHead(4, 2, "last", 0.0)
    x, (_, _, real) = torch.randn(3, LENGTH, 4), inputs()
    expected = torch.stack([head.labels(x[row, length - 1]) for row, length in enumerate(LENGTHS)])
    torch.testing.assert_close(head(x, real), expected)


@torch.no_grad()
def test_options_of_a_choice_are_scored_independently_and_permute() -> None:
    model = model_of("choice", 0.5)
    tokens, segments, real = inputs()
    order = torch.tensor([2, 0, 1])
    found = model(tokens, segments, real)
    assert torch.allclose(model(tokens[order], segments, real[order]), found[:, order])
    other = torch.where(torch.arange(3)[:, None] == 1, tokens, (tokens + 1) % VOCABULARY)
    assert torch.allclose(model(other, segments, real)[:, 1], found[:, 1])
