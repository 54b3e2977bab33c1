"""Costs in closed form equal those of the built model, for random layer programs and every axis."""

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from search_space.architecture import Architecture
from steeplechase.models.encoder import Encoder
from steeplechase.models.kernels import window
from steeplechase.models.sublayer.recurrent import RecurrentWeights
from tests.factories.programs import any_architectures

BATCH, LENGTH = 3, 7


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


class Uncounted:
    """Counts what torch's counter leaves out: window sums and an LSTM's matrix products."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.flops = 0

        def counted_depthwise(values: Tensor, kernel: Tensor) -> Tensor:
            self.flops += 2 * values.numel() * len(kernel)
            return torch.empty_like(values)

        def counted_dynamic(values: Tensor, kernels: Tensor) -> Tensor:
            self.flops += 2 * values.numel() * kernels.shape[-1]
            return torch.empty_like(values)

        def counted_lstm(module: RecurrentWeights, x: Tensor) -> tuple[Tensor, None]:
            matrices = sum(each.numel() for each in module.parameters() if each.ndim > 1)
            self.flops += 2 * x.shape[0] * x.shape[1] * matrices
            directions = 2 if module.bidirectional else 1
            return x.new_empty(*x.shape[:2], directions * module.hidden_size), None

        monkeypatch.setattr(window.portable, "depthwise_window_sum", counted_depthwise)
        monkeypatch.setattr(window.portable, "weighted_window_sum", counted_dynamic)
        for name in ("extended", "inside"):  # what the implementation of a causal window computes too much
            monkeypatch.setattr(window, name, lambda x, shift: x)
        monkeypatch.setattr(RecurrentWeights, "forward", counted_lstm)


@given(any_architectures())
@settings(max_examples=25)
def test_the_closed_form_counts_any_program(drawn: Architecture) -> None:
    """Parameters to the unit, and the operations of matrix products exactly."""
    assert list(drawn.violations()) == []
    with torch.device("meta"):
        encoder = Encoder(drawn, 0.0)
    assert parameters(encoder) == drawn.parameters
    assert sum(value.numel() for value in encoder.state_dict().values()) == drawn.parameters
    assert len(encoder.blocks) == drawn.depth
    with pytest.MonkeyPatch.context() as patch:
        uncounted = Uncounted(patch)
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.device("meta"):
            encoder(torch.zeros(BATCH, LENGTH, dtype=torch.long))
    products = sum(2 * part.copies * part.operations.multiply_adds * LENGTH for part in drawn.parts(LENGTH))
    assert counter.get_total_flops() + uncounted.flops == BATCH * products
