"""Contracts of every architecture: padding has no effect, dropout acts in training alone."""

from typing import get_args

import pytest
import torch
from torch import Tensor

from search_space.architecture import Architecture
from search_space.convolution import Convolution
from steeplechase.models.downstream_model import Form, build_fine_tuned
from steeplechase.models.encoder import Encoder
from steeplechase.models.heads.classification import Pooling, SpanHead
from steeplechase.models.initialisation import initialise
from tests.factories.small_experiments import GROUPS, SPAN_DYNAMIC, architecture, leaking, stir, title, variants

ARCHITECTURES = [
    pytest.param(architecture(convolution, groups), id=f"{title(convolution)}-{groups}")
    for convolution in variants(5)
    for groups in GROUPS
]
REAL, LENGTH = (7, 12, 1), 12
LARGEST_CHANGE = 1e-5
every_architecture = pytest.mark.parametrize("built", ARCHITECTURES)


def encoder(built: Architecture) -> Encoder:
    model = Encoder(built, 0.0).eval()
    initialise(model, 3)
    stir(model)
    return model


def tokens(seed: int, length: int = LENGTH) -> Tensor:
    return torch.randint(5, 40, (len(REAL), length), generator=torch.Generator().manual_seed(seed))


def real(length: int = LENGTH) -> Tensor:
    return torch.arange(length)[None] < torch.tensor(REAL)[:, None]


@pytest.mark.parametrize("convolution", leaking(), ids=title)
@torch.no_grad()
def test_as_released_padding_affects_other_positions(convolution: Convolution) -> None:
    """The contract above can fail: every row with padding changes, and rows without padding do not."""
    model = encoder(architecture(convolution))
    shown, other = tokens(1), torch.where(real(), tokens(1), tokens(2))
    change = ((model(shown, None, real()) - model(other, None, real())).abs().amax(-1) * real()).amax(-1)
    assert (change > 1e-3).tolist() == [length < LENGTH for length in REAL]


@every_architecture
@torch.no_grad()
def test_a_sequence_has_the_same_output_alone_and_in_a_batch(built: Architecture) -> None:
    model = encoder(built)
    together = model(tokens(1), None, real())
    for row, length in enumerate(REAL):
        alone = model(tokens(1)[row : row + 1, :length])
        assert (alone[0] - together[row, :length]).abs().max() <= LARGEST_CHANGE


@pytest.mark.parametrize("convolution", variants(), ids=title)
def test_dropout_acts_in_training_mode_only(convolution: Convolution) -> None:
    model = Encoder(architecture(convolution), 0.1)
    initialise(model, 1)
    assert not torch.equal(model(tokens(1)), model(tokens(1)))
    model.eval()
    assert torch.equal(model(tokens(1)), model(tokens(1)))


@pytest.mark.parametrize("pooling", get_args(Pooling))
@pytest.mark.parametrize("form", get_args(Form))
def test_padding_never_affects_a_fine_tuned_models_answer(form: Form, pooling: Pooling) -> None:
    model = build_fine_tuned(architecture(SPAN_DYNAMIC), form, 3, pooling, 0.0).eval()
    initialise(model, 1)
    stir(model)
    segments = torch.zeros_like(tokens(1))
    other = torch.where(real(), tokens(1), tokens(2))
    one, two = model(tokens(1), segments, real()), model(other, segments, real())
    if isinstance(model.head, SpanHead):
        assert one.shape == (3, LENGTH, 2)
        assert not one[~real()].exp().any()
        one, two = one[real()], two[real()]
    elif form == "tags":
        assert one.shape == (3, LENGTH, 3)
        one, two = one[real()], two[real()]
    else:  # the three sequences are the endings of one example of a multiple choice
        assert one.shape == ((1, 3) if form == "choice" else (3, 3))
    assert (one - two).abs().max() <= LARGEST_CHANGE
