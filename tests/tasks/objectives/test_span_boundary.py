"""Span boundary objective: boundaries of spans, the flow of gradients, the sum of losses, and a planted function."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.objective import MaskedLanguageModel, SpanBoundary
from search_space.selection import SingleToken, SpanGeometric, WholeWord
from search_space.selection.numbering import NONE
from steeplechase.models.heads.masked_language_model import SpanBoundaryHead
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.masking import MaskedBatch, mask
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryBatch
from steeplechase.tasks.objectives.span_boundary import Boundaries, Model, boundaries_of
from steeplechase.tasks.tokenizer.word_boundaries import words_of
from tests.factories.small_experiments import (
    WORDS,
    batches_of,
    built,
    candidate,
    convolutions,
    evaluation_set_of,
    sequences_of,
    stir,
)

OBJECTIVE = SpanBoundary(mask_rate=0.3, span_positions=6, position_width=8)


def model_of(objective: SpanBoundary = OBJECTIVE) -> Model:
    model = built(candidate(convolutions()[-1], objective)).eval()
    stir(model)
    assert isinstance(model, Model)
    return model


def batch_of(rows: int = 8) -> tuple[AuxiliaryBatch, Boundaries]:
    sequences = batches_of(OBJECTIVE).at(0, rows, 1)
    batch = model_of().prepare(sequences, WORDS, np.random.default_rng(1))
    (boundaries,) = batch.auxiliary
    return batch, boundaries


def masked_spans(rows: int, length: int) -> tuple[MaskedBatch, Boundaries]:
    sequences = batches_of(OBJECTIVE, length).at(0, rows, 1)
    ordinary = words_of(sequences.tokens, WORDS) != NONE
    masked = mask(sequences, OBJECTIVE, WORDS, np.random.default_rng(1))
    return masked, boundaries_of(masked, ordinary, OBJECTIVE.span_positions)


def test_boundaries_are_the_nearest_tokens_that_are_not_masked() -> None:
    """Against a walk from every predicted position to both sides."""
    batch, found = masked_spans(200, 32)
    counted = 0
    for row, positions in enumerate(batch.masked_positions):
        masked = {int(each) for each, span in zip(positions, batch.spans[row], strict=True) if span != NONE}
        for column, position in enumerate(map(int, positions)):
            left = right = position
            while left in masked:
                left -= 1
            while right in masked:
                right += 1
            special = {WORDS.classify, WORDS.separate} & {int(batch.inputs[row, each]) for each in (left, right)}
            offset = position - left - 1
            if position not in masked or special or offset >= OBJECTIVE.span_positions:
                assert found.offsets[row, column] == NONE
            else:
                assert (found.left[row, column], found.right[row, column]) == (left, right)
                assert found.offsets[row, column] == offset
                counted += 1
    assert counted > 500
    assert (found.offsets == NONE).any()


def test_the_gradient_of_the_boundary_loss_is_zero_inside_the_span_and_not_beside_it() -> None:
    model, (batch, boundaries) = model_of(), batch_of()
    hidden: list[Tensor] = []

    def keep(_: nn.Module, __: object, output: Tensor) -> None:
        output.retain_grad()
        hidden.append(output)

    handle = model.encoder.register_forward_hook(keep)
    model.losses(model.device_batch(batch, np.random.default_rng(1)))[1].backward()
    handle.remove()
    gradient = hidden[0].grad
    assert gradient is not None
    size = gradient.abs().sum(-1).numpy()
    used = boundaries.offsets != NONE
    beside = np.zeros_like(size, dtype=bool)
    for ends in (boundaries.left, boundaries.right):
        rows, columns = np.nonzero(used)
        beside[rows, ends[rows, columns]] = True
    assert beside.any()
    assert (size[beside] > 0).all()
    assert (size[~beside] == 0).all()


@pytest.mark.parametrize("length", [3, 4, 5])
def test_a_sequence_too_short_for_a_boundary_has_the_loss_of_masked_tokens_alone(length: int) -> None:
    """[CLS], at most three tokens and [SEP]: a span beside a special token is not predicted from it."""
    tokens = batches_of(OBJECTIVE, 16).at(0, 4, 1).tokens[:, :length].copy()
    tokens[:, -1] = WORDS.separate
    model = model_of()
    batch = model.prepare(sequences_of(tokens), WORDS, np.random.default_rng(1))
    masked, boundary = model.losses(model.device_batch(batch, np.random.default_rng(1)))
    assert masked.item() > 0
    assert boundary.isfinite()
    assert (boundary.item() == 0) == (batch.auxiliary[0].offsets == NONE).all()
    assert length > 4 or boundary.item() == 0


def test_single_tokens_are_refused() -> None:
    refused = SpanBoundary(selection=SingleToken())
    assert [violation.path for violation in refused.violations()] == [("selection",)]
    assert not list(SpanBoundary(selection=WholeWord()).violations())


def test_the_published_head_has_its_parameters() -> None:
    """SpanBERT's head at 1,024 channels: 3,360,672 parameters without the bias of the vocabulary."""
    large = Architecture(width=1024, embedding_width=1024, heads=16)
    assert SpanBoundary().boundary_head(large).parameters - large.vocabulary_size == 3_360_672


@torch.inference_mode()
def test_its_evaluation_set_is_that_of_masked_language_modelling_with_the_same_masks() -> None:
    plain = MaskedLanguageModel(**OBJECTIVE.masking_fields)
    assert plain.selection == SpanGeometric()
    learners = [candidate(convolutions()[-1], objective) for objective in (plain, OBJECTIVE)]
    one, other = (evaluation_set_of(learner, 9) for learner in learners)
    assert all((getattr(one, name) == getattr(other, name)).all() for name in ("inputs", "positions", "targets"))
    models = [built(learner).eval() for learner in learners]
    assert models[0].held_out_losses(one) == pytest.approx(models[1].held_out_losses(one))  # equal initial weights


def test_a_prediction_depends_on_both_boundaries_and_the_position_between_them() -> None:
    head = SpanBoundaryHead(Architecture(width=16, embedding_width=16, vocabulary_size=24), 4, 8)
    initialise(head, 1)
    stir(head)
    table, (left, right) = torch.randn(24, 16), (torch.randn(3, 16, requires_grad=True) for _ in range(2))
    offsets = torch.tensor([0, 1, 2])
    logits = head(left, right, offsets, table)
    assert not torch.isclose(logits, head(left, right, offsets + 1, table)).all(1).any()
    gradients = torch.autograd.grad(logits.square().sum(), (left, right))
    assert all(gradient.abs().sum(1).min() > 0 for gradient in gradients)
