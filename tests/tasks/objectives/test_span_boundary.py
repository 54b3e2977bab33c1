"""Span boundary objective: boundaries of spans, the flow of gradients, the sum of losses, and a planted function."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.objective import MaskedLanguageModel, SpanBoundary
from search_space.selection import SingleToken, SpanGeometric, WholeWord
from search_space.selection.numbering import NONE
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.models.heads.span_boundary import SpanBoundaryHead
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
from tests.factories.updates import updates

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


def test_adjacent_spans_share_their_boundaries() -> None:
    batch, found = masked_spans(200, 32)
    steps = (np.diff(batch.masked_positions, axis=1) == 1) & (np.diff(batch.spans, axis=1) != 0)
    rows, columns = np.nonzero(steps & (batch.spans[:, 1:] != NONE) & (batch.spans[:, :-1] != NONE))
    assert len(rows) > 20
    assert (found.left[rows, columns] == found.left[rows, columns + 1]).all()
    assert (found.right[rows, columns] == found.right[rows, columns + 1]).all()


def test_the_gradient_of_the_boundary_loss_is_zero_inside_the_span_and_not_beside_it() -> None:
    model, (batch, boundaries) = model_of(), batch_of()
    hidden: list[Tensor] = []

    def keep(_: nn.Module, __: object, output: Tensor) -> None:
        output.retain_grad()
        hidden.append(output)

    handle = model.encoder.register_forward_hook(keep)
    model.losses(batch)[1].backward()
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
    masked, boundary = model.losses(batch)
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


TOKENS, SPAN, WIDTH = 24, 4, 64
Predictor = Callable[[nn.Module, Tensor, Tensor, Tensor], Tensor]


class Probe(nn.Module):
    """An encoder without layers: the embeddings of a left token, four masked tokens and a right token, and a head."""

    def __init__(self) -> None:
        super().__init__()
        sizes = Architecture(width=WIDTH, embedding_width=WIDTH, vocabulary_size=TOKENS + 1)
        self.tokens, self.places = nn.Embedding(TOKENS + 1, WIDTH), nn.Embedding(SPAN + 2, WIDTH)
        self.boundary, self.own = SpanBoundaryHead(sizes, SPAN, 32), MaskedLanguageModelHead(sizes)

    def hidden(self, left: Tensor, right: Tensor) -> Tensor:
        masked = torch.full((len(left), SPAN), TOKENS)
        return self.tokens(torch.cat([left[:, None], masked, right[:, None]], 1)) + self.places.weight


def by_boundary(first: int, last: int, relative: bool = True) -> Predictor:
    """Return logits from the boundary head, on the vectors at two places, with or without the position inside."""

    def logits(probe: nn.Module, left: Tensor, right: Tensor, offsets: Tensor) -> Tensor:
        assert isinstance(probe, Probe)
        hidden = probe.hidden(left, right)
        inside = offsets if relative else torch.zeros_like(offsets)
        found: Tensor = probe.boundary(hidden[:, first], hidden[:, last], inside, probe.tokens.weight)
        return found

    return logits


def by_own_vector(probe: nn.Module, left: Tensor, right: Tensor, offsets: Tensor) -> Tensor:
    """Return logits from the vocabulary head at the masked token itself."""
    assert isinstance(probe, Probe)
    own = probe.hidden(left, right)[torch.arange(len(left)), offsets + 1]
    found: Tensor = probe.own(own, probe.tokens.weight)
    return found


def accuracy(predict: Predictor, seed: int, steps: int = 600) -> float:
    """Train on spans that are a random function of both boundaries and the offset; return the share predicted."""
    generator = torch.Generator().manual_seed(seed)
    answers = torch.randint(TOKENS, (TOKENS, TOKENS, SPAN), generator=generator)
    probe = Probe()
    initialise(probe, seed)
    optimiser = torch.optim.Adam(probe.parameters(), 5e-3)
    every = torch.cartesian_prod(torch.arange(TOKENS), torch.arange(TOKENS), torch.arange(SPAN))
    for _ in updates(steps):
        left, right, offsets = every[torch.randint(len(every), (512,), generator=generator)].T
        loss = cross_entropy(predict(probe, left, right, offsets), answers[left, right, offsets])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    left, right, offsets = every.T
    with torch.inference_mode():
        found = predict(probe, left, right, offsets).argmax(-1)
    return float((found == answers[left, right, offsets]).float().mean())


def test_a_boundary_predicts_what_a_masked_token_alone_cannot() -> None:
    """A planted function of both outer boundaries and the position between them; a guess is right in 1 of 24."""
    assert accuracy(by_boundary(0, SPAN + 1), 1) > 0.99
    assert accuracy(by_own_vector, 1, 200) < 0.12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("predict", "most"),
    [(by_boundary(1, SPAN), 0.12), (by_boundary(0, 0), 0.25), (by_boundary(0, SPAN + 1, relative=False), 0.45)],
    ids=["inner boundary", "left boundary alone", "no position"],
)
def test_both_outer_boundaries_and_the_position_are_needed(predict: Predictor, most: float) -> None:
    assert accuracy(predict, 1) < most
