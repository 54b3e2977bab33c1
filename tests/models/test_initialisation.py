"""Initial weights are a function of the seed and their names only."""

import pytest
import torch
from torch import nn

from search_space.architecture import Architecture
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import STANDARD_DEVIATION, initialise
from tests.factories.small_experiments import GROUPS, architecture, convolutions, variants

ARMS = [architecture(convolution, groups) for convolution in variants() for groups in GROUPS]


def started(arm: Architecture, seed: int) -> dict[str, torch.Tensor]:
    model = Encoder(arm, 0.1)
    initialise(model, seed)
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def test_a_shared_weight_has_the_same_initial_values_in_every_arm() -> None:
    found: dict[tuple[str, torch.Size], torch.Tensor] = {}
    for arm in ARMS:
        values = started(arm, 1)
        assert {"embeddings.tokens.weight", "blocks.1.attention.query.weight"} <= values.keys()
        for name, value in values.items():
            assert torch.equal(found.setdefault((name, value.shape), value), value), name


def test_initial_weights_have_the_distribution_of_the_releases() -> None:
    for name, weight in started(ARMS[0].model_copy(update={"vocabulary_size": 5000}), 1).items():
        if name.endswith("bias"):
            assert not weight.any(), name
        elif name.endswith("norm.weight"):
            assert (weight == 1).all(), name
        else:
            assert weight.abs().max() <= 2 * STANDARD_DEVIATION, name
            # a normal cut at two standard deviations keeps 0.880 of its spread
            assert weight.std().item() == pytest.approx(0.880 * 0.02, rel=0.15), name
            assert abs(weight.mean().item()) < 5 * 0.0176 / weight.numel() ** 0.5, name


@pytest.mark.parametrize("kernel_size", [1, 5, 9])
@pytest.mark.parametrize("kind", ["depthwise", "span_dynamic"])
def test_depthwise_kernels_are_initialised_to_one_over_their_size(kind: str, kernel_size: int) -> None:
    chosen = next(each for each in convolutions(kernel_size) if each.kind == kind)
    kernels = [weight for name, weight in started(architecture(chosen), 1).items() if "depthwise" in name]
    assert len(kernels) == 2
    for kernel in kernels:
        assert kernel.shape == (kernel_size, 24)
        assert (kernel == torch.tensor(1 / kernel_size)).all()


def test_a_module_without_a_rule_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"1: Bilinear has parameters and no initialisation rule"):
        initialise(nn.Sequential(nn.Linear(2, 2), nn.Bilinear(2, 2, 2)), 1)
