"""Norms: torch's values and gradients, saved values, and one placement's default that is unchanged."""

import pytest
import torch
from torch.nn.functional import layer_norm, rms_norm

from search_space.architecture import Architecture
from search_space.norm import Norm, saved_by_norm
from search_space.objective import MaskedLanguageModel
from search_space.pruning import Pruning
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.kernels.residual_norm import NO_DROPOUT
from steeplechase.models.norm import build_norm, prepared_norm
from steeplechase.models.normalisation import pre_norm

EPSILON, WIDTH = 1e-3, 10


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True)


def by_torch(norm: Norm, x: torch.Tensor, parameters: list[torch.Tensor]) -> torch.Tensor:
    if norm == "rms_norm":
        return rms_norm(x, (WIDTH,), parameters[0], EPSILON)
    return layer_norm(x, (WIDTH,), *parameters, eps=EPSILON)


@pytest.mark.parametrize("norm", ["layer_norm", "layer_norm_without_bias", "rms_norm"])
def test_a_norm_and_its_gradients_are_torchs(norm: Norm) -> None:
    """Also as incremental decoding prepares it, and the values that it saves are those declared."""
    module, x = build_norm(norm, WIDTH, EPSILON).double(), drawn(3, 4, WIDTH)
    parameters = [each.data.add_(drawn(WIDTH).detach()).requires_grad_() for each in module.parameters()]
    expected = by_torch(norm, x, parameters)
    found = module(x)
    assert (found - expected).abs().max() < 1e-12
    assert (prepared_norm(module)(x) - expected).abs().max() < 1e-12
    weights = drawn(3, 4, WIDTH).detach()
    leaves = (x, *module.parameters())
    for one, other in zip(
        torch.autograd.grad((found * weights).sum(), leaves),
        torch.autograd.grad((expected * weights).sum(), (x, *parameters)),
        strict=True,
    ):
        assert (one - other).abs().max() < 1e-12
    kept = saved_bytes(lambda: module(x), module.parameters(), output=False) / 8 / 12
    assert kept == saved_by_norm(norm, WIDTH)


def test_a_norm_of_bfloat16_is_computed_in_float32() -> None:
    x = (drawn(2, WIDTH) * 100).detach().bfloat16()
    found = build_norm("rms_norm", WIDTH, EPSILON)(x)
    assert found.dtype == torch.float32
    assert torch.equal(found, build_norm("rms_norm", WIDTH, EPSILON)(x.float()))


@pytest.mark.parametrize(("device", "dtype"), [("cpu", torch.bfloat16), ("meta", torch.float32)])
def test_the_residual_path_of_pre_norm_is_in_float32_off_the_processor(device: str, dtype: torch.dtype) -> None:
    x = torch.empty(2, 3, WIDTH, dtype=torch.bfloat16, device=device)
    assert pre_norm.connect(x, lambda each: each, lambda each: each, NO_DROPOUT).dtype == dtype


def test_pruning_of_the_width_names_the_norm_that_it_cannot_keep() -> None:
    architecture = Architecture.model_validate(
        {"embedding_width": 256, "normalisation": {"kind": "post_norm", "norm": "rms_norm"}}
    )
    violations = Pruning(parameters_share=0.5).violations(architecture, MaskedLanguageModel())
    expected = "pruning the width needs layer_norm, whose statistics it keeps, not rms_norm"
    assert [each.message for each in violations] == [expected]
