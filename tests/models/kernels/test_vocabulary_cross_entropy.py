"""Products with the table of the vocabulary, their cross-entropy, and tokens sampled with it."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from steeplechase.models.kernels import vocabulary_cross_entropy as module
from steeplechase.models.kernels.native import bindings as calls
from steeplechase.models.kernels.vocabulary_cross_entropy import (
    FEW_ROWS,
    sample_tokens,
    vocabulary_cross_entropy,
    vocabulary_logits,
)

ROWS, WORDS, WIDTH = 40, 700, 16  # tokens: two whole blocks of the compiled operator and a part of one
ROUNDING = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 3e-2}
TYPES = pytest.mark.parametrize("dtype", ROUNDING, ids=str)


@pytest.fixture(params=["compiled", "torch alone"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with each implementation that the machine has."""
    if request.param == "torch alone":
        monkeypatch.setattr(module.bindings, "usable", lambda *_: False)
    elif not calls.usable(torch.zeros(1)):
        pytest.skip("this machine has no C compiler")


def drawn(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def inputs(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    answers = torch.randint(WORDS, (ROWS,), generator=torch.Generator().manual_seed(2))
    bias_dtype = torch.float64 if dtype == torch.float64 else torch.float32
    return drawn(ROWS, WIDTH).to(dtype), drawn(WORDS, WIDTH).to(dtype), drawn(WORDS).to(bias_dtype), answers


@TYPES
def test_the_loss_and_its_gradients_are_those_of_cross_entropy(dtype: torch.dtype) -> None:
    *weights, answers = inputs(dtype)
    mine = [value.requires_grad_() for value in weights]
    loss, _ = vocabulary_cross_entropy(*mine, answers)
    its = [value.detach().double().requires_grad_() for value in weights]
    expected = cross_entropy(linear(*its), answers)
    assert loss.item() == pytest.approx(expected.item(), rel=ROUNDING[dtype])
    (3 * loss).backward()
    (3 * expected).backward()
    for value, reference in zip(mine, its, strict=True):
        assert value.grad is not None
        assert reference.grad is not None
        scale = reference.grad.abs().max()
        assert (value.grad.double() - reference.grad).abs().max() <= ROUNDING[dtype] * 10 * scale


def test_the_backward_pass_can_run_twice() -> None:
    """Saved tensors are not modified by the backward pass."""
    *weights, answers = inputs(torch.float32)
    mine = [value.requires_grad_() for value in weights]
    loss, _ = vocabulary_cross_entropy(*mine, answers)
    first = torch.autograd.grad(loss, mine, retain_graph=True)
    assert all(map(torch.equal, first, torch.autograd.grad(loss, mine)))


def test_tokens_sampled_with_the_loss_invert_the_cumulative_distribution() -> None:
    x, table, bias, answers = inputs(torch.float32)
    uniforms = torch.rand(ROWS, generator=torch.Generator().manual_seed(3))
    _, tokens = vocabulary_cross_entropy(x, table, bias, answers, uniforms)
    assert torch.equal(tokens, sample_tokens(linear(x.double(), table.double(), bias.double()), uniforms))
    assert torch.equal(vocabulary_cross_entropy(x, table, bias, answers)[1], answers)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sampled_tokens_follow_the_softmax(seed: int) -> None:
    logits, rows = torch.tensor([0.0, 2.0, -1.0, 0.5, 1.0, -3.0]), 20_000
    uniforms = torch.rand(rows, generator=torch.Generator().manual_seed(seed))
    nowhere, answers = torch.zeros(rows, 1), torch.zeros(rows, dtype=torch.long)
    _, tokens = vocabulary_cross_entropy(nowhere, torch.zeros(6, 1), logits, answers, uniforms)
    expected = logits.double().softmax(-1).numpy() * rows
    assert chisquare(np.bincount(tokens.numpy(), minlength=6), expected).pvalue > 1e-4


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1 - 2**-24])
def test_tokens_of_probability_zero_are_never_sampled(uniform: float) -> None:
    """Uniform numbers 0 and 1, with tokens of probability zero at both ends of the vocabulary."""
    bias = torch.full((30_000,), -torch.inf)
    bias[100:29_000] = torch.randn(28_900, generator=torch.Generator().manual_seed(1))
    answers = torch.full((3,), 200)
    _, tokens = vocabulary_cross_entropy(
        torch.zeros(3, 1), torch.zeros(30_000, 1), bias, answers, torch.full((3,), uniform)
    )
    assert (tokens >= 100).all()
    assert (tokens < 29_000).all()


def test_nan_propagates() -> None:
    x, table, bias, answers = inputs(torch.float32)
    x[3] = torch.nan
    assert vocabulary_cross_entropy(x, table, bias, answers)[0].isnan()


@pytest.mark.parametrize("rows", [0, 1, FEW_ROWS, FEW_ROWS + 1])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("training", [False, True])
def test_products_are_those_of_a_linear_map(rows: int, biased: bool, dtype: torch.dtype, training: bool) -> None:
    """For every number of rows and type, with and without biases, in inference and where gradients are taken."""
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, 24, generator=generator).to(dtype)
    table = torch.randn(101, 24, generator=generator)
    bias = torch.randn(101, generator=generator) if biased else None
    with torch.set_grad_enabled(training):
        found = vocabulary_logits(x, table, bias)
    expected = linear(x, table.to(dtype), None if bias is None else bias.to(dtype))
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected)
