"""Activation checkpointing: bitwise equal results with recomputation, and less memory."""

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy

from search_space.architecture import Architecture
from search_space.convolution import Convolution, NoConvolution, SpanDynamic
from steeplechase.models.activation_checkpointing import MATRIX_PRODUCTS, ActivationCheckpointing, _policy
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from tests.factories.small_experiments import architecture, convolutions, stir, title

LESS: tuple[ActivationCheckpointing, ...] = ("selective", "full")
every_convolution = pytest.mark.parametrize("convolution", convolutions(), ids=title)


class Counted(TorchDispatchMode):
    """Counts the matrix products that are computed."""

    products = 0

    def __torch_dispatch__(self, operator, types, arguments=(), named=None):  # type: ignore[no-untyped-def]
        self.products += operator in MATRIX_PRODUCTS
        return operator(*arguments, **(named or {}))


def encoder(
    convolution: Convolution, kept: ActivationCheckpointing, dropout: float = 0.0, **changes: object
) -> Encoder:
    declared = Architecture(**{**architecture(convolution).model_dump(), **changes})
    model = Encoder(declared, dropout, None, kept)
    initialise(model, 1)
    stir(model)
    return model


def loss_of(model: Encoder) -> Tensor:
    tokens = torch.randint(40, (3, 20), generator=torch.Generator().manual_seed(1))
    torch.manual_seed(4)  # dropout
    loss: Tensor = model(tokens, None, torch.arange(20) < torch.tensor([[20], [15], [9]])).square().mean()
    return loss


def check_equal(
    convolution: Convolution,
    kept: ActivationCheckpointing,
    dropout: float,
    *,
    bfloat16: bool = False,
    **changes: object,
) -> None:
    found = []
    for each in ("none", kept):
        model = encoder(convolution, each, dropout, **changes)
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            loss = loss_of(model)
        found.append((loss, *torch.autograd.grad(loss, list(model.parameters()))))
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("kept", LESS)
@every_convolution
def test_checkpointing_is_bitwise_equal(
    convolution: Convolution, kept: ActivationCheckpointing, dropout: float
) -> None:
    check_equal(convolution, kept, dropout)


@pytest.mark.parametrize("kept", LESS)
@pytest.mark.parametrize("sharing", ["all", "feed_forward"])
def test_checkpointing_of_shared_sublayers_in_bfloat16_is_bitwise_equal(
    kept: ActivationCheckpointing, sharing: str
) -> None:
    check_equal(SpanDynamic(kernel_size=5), kept, 0.2, bfloat16=True, sharing=sharing)


@pytest.mark.parametrize("kept", LESS)
def test_checkpointing_of_recurrent_layers_over_padding_is_bitwise_equal(kept: ActivationCheckpointing) -> None:
    check_equal(NoConvolution(), kept, 0.2, layers="[s|r] r", sharing="all")


@pytest.mark.parametrize(("kept", "again"), [("none", False), ("selective", False), ("full", True)])
def test_matrix_products_are_recomputed_only_with_full_checkpointing(
    kept: ActivationCheckpointing, again: bool
) -> None:
    counted = {}
    for each in ("none", kept):
        loss = loss_of(encoder(SpanDynamic(kernel_size=5), each))
        with Counted() as counter:
            loss.backward()
        counted[each] = counter.products
    assert (counted[kept] > counted["none"]) is again


@pytest.mark.parametrize("kernel", ["flash", "efficient", "cudnn"])
def test_attention_of_every_kernel_of_a_gpu_is_saved_by_selective_checkpointing(kernel: str) -> None:
    operator = getattr(torch.ops.aten, f"_scaled_dot_product_{kernel}_attention").default
    assert _policy(None, operator) is CheckpointPolicy.MUST_SAVE


class InGroups(TorchDispatchMode):
    """Counts the maps in groups that are computed."""

    maps = 0

    def __torch_dispatch__(self, operator, types, arguments=(), named=None):  # type: ignore[no-untyped-def]
        self.maps += operator is torch.ops.aten.baddbmm.default
        return operator(*arguments, **(named or {}))


@pytest.mark.parametrize(("kept", "again"), [("selective", 0), ("full", 4)])
def test_maps_in_groups_are_recomputed_only_with_full_checkpointing(
    kept: ActivationCheckpointing, again: int
) -> None:
    """Two of each block."""
    model = Encoder(architecture(SpanDynamic(kernel_size=5), groups=2), 0.0, None, kept)
    initialise(model, 1)
    loss = loss_of(model)
    with InGroups() as counter:
        loss.backward()
    assert counter.maps == again
