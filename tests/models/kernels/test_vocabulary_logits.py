"""The product of few vectors with the table is that of torch's linear map."""

import pytest
import torch
from torch.nn.functional import linear

from models.kernels.vocabulary_logits import FEW_ROWS, vocabulary_logits


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


def test_gradients_reach_few_vectors_and_the_table() -> None:
    """A training step with fewer vectors than a step of decoding has the gradients of a linear map."""
    x, table = torch.randn(2, 8, requires_grad=True), torch.randn(11, 8, requires_grad=True)
    found = torch.autograd.grad(vocabulary_logits(x, table).square().sum(), (x, table))
    expected = torch.autograd.grad(linear(x, table).square().sum(), (x, table))
    torch.testing.assert_close(found, expected)
