"""Contracts of every encoder–decoder: closed forms, visibility, padding, gradients, seeds."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from search_space.activation_memory import activation_memory
from search_space.cost import MATMUL, Operations
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder_decoder import EncoderDecoder
from tests.factories.encoder_decoders import CHANGES, architecture, built, tokens

LENGTH = 12
MATRIX_PRODUCTS = replace(MATMUL, prices=Operations(multiply_adds=2))  # a rectifier is a product element by element
REAL = torch.tensor([7, 12, 1])
every_kind = pytest.mark.parametrize("kind", CHANGES)


def mask(real: Tensor = REAL, length: int = LENGTH) -> Tensor:
    return torch.arange(length) < real[:, None]


@every_kind
def test_parameters_are_those_of_the_built_model(kind: str) -> None:
    declared = architecture(kind)
    with torch.device("meta"):
        model = build_encoder(declared, 0.1)
    assert sum(each.numel() for each in model.parameters()) == declared.parameters
    assert not list(declared.violations())


@every_kind
def test_matrix_products_are_those_counted_on_the_built_model(kind: str) -> None:
    """Depthwise convolutions and LSTMs are outside torch's counter, so stacks with them are compared without."""
    if kind in ("evolved", "recurrent"):
        pytest.skip("torch's counter counts neither depthwise products nor LSTMs")
    declared = architecture(kind)
    with torch.device("meta"):
        model = build_encoder(declared, 0.0)
        both = torch.zeros(2, LENGTH, dtype=torch.long)
    assert isinstance(model, EncoderDecoder)
    with FlopCounterMode(display=False) as counter:
        model.target_logits(both, None, both)
    assert declared.forward_flops(LENGTH, MATRIX_PRODUCTS) == counter.get_total_flops() // 2


@pytest.mark.parametrize("kind", ["transformer", "bart", "pre_norm", "pre_norm_without_final", "evolved"])
def test_saved_activations_are_within_five_percent_of_those_kept(kind: str) -> None:
    sizes = {"width": 64, "feed_forward_width": 128, "positions": 128}
    declared = architecture(kind, **sizes)
    model = built(declared)
    both = torch.zeros(4, 96, dtype=torch.long)
    kept = saved_bytes(lambda: model.target_logits(both, None, both), model.parameters(), output=False)
    estimate = activation_memory(declared, 96, 4, 4, dropout=0.0)
    assert estimate.total == pytest.approx(kept, rel=0.05)


@every_kind
def test_a_target_reads_the_whole_source_and_itself_to_the_left(kind: str) -> None:
    """The gradient of every output for every input is exactly 0 where it is hidden, and not 0 where it is visible."""
    model = built(architecture(kind)).double()
    source, target = tokens(1, 1, 6), tokens(2, 1, 6)
    seen: dict[str, Tensor] = {}

    def keep(name: str):  # type: ignore[no-untyped-def]
        def hook(_module: object, _inputs: object, output: Tensor) -> Tensor:
            seen[name] = output.detach().requires_grad_()
            return seen[name]

        return hook

    model.embeddings.register_forward_hook(keep("source"))
    model.decoder.embeddings.register_forward_hook(keep("target"))
    outputs = model.target_logits(source, None, target)
    weights = torch.randn(outputs.shape[-1], generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    for place in range(6):
        total = (outputs[0, place] * weights).sum()
        of_source, of_target = torch.autograd.grad(total, (seen["source"], seen["target"]), retain_graph=True)
        assert (of_source[0].abs().amax(-1) > 0).all()
        reached = of_target[0].abs().amax(-1)
        assert (reached[place + 1 :] == 0.0).all()
        assert (reached[: place + 1] > 0).all()


@every_kind
@torch.no_grad()
def test_padding_changes_no_token(kind: str) -> None:
    model = built(architecture(kind)).double()
    source, other, target = tokens(1), tokens(2), tokens(3)
    padded = torch.where(mask(), source, other)
    one, two = (model.target_logits(each, mask(), target, mask()) for each in (source, padded))
    assert (one - two)[mask()].abs().max() < 1e-10
    for row, length in enumerate(REAL.tolist()):
        alone = model.target_logits(source[row : row + 1, :length], None, target[row : row + 1, :length])
        assert (alone[0] - one[row, :length]).abs().max() < 1e-10
    unmasked = model.target_logits(padded, None, target, mask())
    assert (one - unmasked)[mask()].abs().max() > 1e-3, "unmasked, it must be seen"


@torch.no_grad()
def test_a_source_of_padding_alone_gives_numbers() -> None:
    model = built(architecture())
    nothing = torch.zeros(3, LENGTH, dtype=torch.bool)
    assert model.target_logits(tokens(1), nothing, tokens(2)).isfinite().all()
