"""Encoders of any layer program: who sees whom, padding, sharing, orders, and norms."""

import copy

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from search_space.architecture import Architecture
from search_space.summary import receptive_field
from steeplechase.models.encoder import Encoder
from tests.factories.parity import dependence
from tests.factories.programs import any_architectures
from tests.factories.sublayers import stirred_encoder

LENGTH = 9
SIZES = {
    "width": 16,
    "heads": 2,
    "embedding_width": 16,
    "feed_forward_width": 24,
    "vocabulary_size": 40,
    "positions": 16,
}


def tokens(seed: int = 1, length: int = LENGTH, rows: int = 2) -> Tensor:
    return torch.randint(5, 40, (rows, length), generator=torch.Generator().manual_seed(seed))


def reach(encoder: Encoder, length: int = 6) -> Tensor:
    """Return how much the output at each position depends on each token's embedding [outputs inputs]."""
    return dependence(encoder, lambda: encoder(tokens(1, length, 1)))[0]


ALLOWED = {"bidirectional": torch.ones(6, 6), "left_to_right": torch.ones(6, 6).tril()}
ALLOWED["right_to_left"] = ALLOWED["left_to_right"].T
ALLOWED["prefix"] = ALLOWED["left_to_right"]  # these sequences have no segments


@given(any_architectures())
@settings(max_examples=25)
def test_a_hidden_token_has_a_gradient_of_exactly_zero(drawn: Architecture) -> None:
    found = reach(stirred_encoder(drawn))
    assert not found[ALLOWED[drawn.visibility] == 0].any()
    assert (found.diagonal() > 0).all()


@given(any_architectures())
@settings(max_examples=25)
@torch.no_grad()
def test_padding_affects_no_token_of_any_program(drawn: Architecture) -> None:
    encoder = stirred_encoder(drawn)
    lengths = torch.tensor([[LENGTH], [4]])
    padding_mask = torch.arange(LENGTH)[None] < lengths
    shown, other = tokens(1), torch.where(padding_mask, tokens(1), tokens(2))
    one, two = encoder(shown, None, padding_mask), encoder(other, None, padding_mask)
    assert one.isfinite().all()
    assert (one - two)[padding_mask].abs().max() < 1e-9
    alone = encoder(shown[1:, :4])
    assert (alone[0] - one[1, :4]).abs().max() < 1e-9


@pytest.mark.parametrize("sharing", ["all", "attention", "feed_forward"])
@pytest.mark.parametrize("normalisation", ["post_norm", "pre_norm"])
def test_a_shared_gradient_is_the_sum_of_the_gradients_of_equal_copies(sharing: str, normalisation: str) -> None:
    sizes = {**SIZES, "depth": 3, "normalisation": normalisation}
    shared = stirred_encoder({**sizes, "sharing": sharing})
    copies = stirred_encoder(sizes)
    own = dict(shared.named_parameters())
    kinds = {"all": ("attention", "feed_forward"), "attention": ("attention",), "feed_forward": ("feed_forward",)}[
        sharing
    ]

    def source(name: str) -> str:
        parts = name.split(".")
        is_shared = parts[0] == "blocks" and parts[2].removesuffix("_norm") in kinds
        return ".".join([parts[0], "0", *parts[2:]]) if is_shared else name

    with torch.no_grad():
        for name, parameter in copies.named_parameters():
            parameter.copy_(own[source(name)])
    outputs = [model(tokens()) for model in (shared, copies)]
    assert torch.equal(*outputs)
    for out in outputs:
        out.square().sum().backward()
    totals = {name: torch.zeros_like(parameter) for name, parameter in own.items()}
    for name, parameter in copies.named_parameters():
        assert parameter.grad is not None
        totals[source(name)] += parameter.grad
    for name, parameter in own.items():
        assert parameter.grad is not None
        scale = totals[name].abs().max().clamp_min(1.0)
        assert (parameter.grad - totals[name]).abs().max() / scale < 1e-6, name


def test_sharing_survives_copies_files_and_moves() -> None:
    architecture = Architecture.model_validate({**SIZES, "depth": 4, "sharing": "all"})
    encoder = stirred_encoder(architecture)
    expected = encoder(tokens())
    assert {name.split(".")[1] for name in encoder.state_dict() if name.startswith("blocks.")} == {"0"}
    copied = copy.deepcopy(encoder)
    loaded = Encoder(architecture, 0.0).double().eval()
    loaded.load_state_dict(encoder.state_dict())
    for other in (copied, loaded):
        assert torch.equal(other(tokens()), expected)
        first = dict(other.blocks[0].named_parameters())
        shared = dict(next(iter(other.blocks[3].sublayers()))[0].named_parameters())
        assert shared["query.weight"].data_ptr() == first["attention.query.weight"].data_ptr()
        with torch.no_grad():
            first["attention.query.weight"].add_(1.0)
        assert not torch.equal(other(tokens()), expected)
    assert torch.equal(encoder(tokens()), expected), "a copy shares nothing with its original"


def test_the_executed_order_is_the_program() -> None:
    encoder = stirred_encoder({**SIZES, "layers": "s s f g f r <lin:1>"})
    ran: list[str] = []
    for block in encoder.blocks:
        for kind in block.kinds:
            block.get_submodule(kind).register_forward_hook(lambda *_, kind=kind: ran.append(kind))  # type: ignore[misc]
    encoder(tokens())
    assert ran == [
        "attention",
        "attention",
        "feed_forward",
        "gated_linear_unit",
        "feed_forward",
        "recurrent",
        "operation_chain",
    ]


@torch.no_grad()
def test_sinusoids_of_a_later_position_are_a_rotation_of_an_earlier_one() -> None:
    encoder = stirred_encoder({**SIZES, "position": "sinusoidal"})
    table = encoder.embeddings.positions(40).double()
    pairs = table.unflatten(-1, (-1, 2))
    for shift in (1, 7):
        for pair in range(pairs.shape[1]):
            sine, cosine = (pairs[:-shift, pair, part] for part in (0, 1))
            rate = torch.linalg.lstsq(torch.stack([sine[:2], cosine[:2]], 1), pairs[shift : shift + 2, pair]).solution
            predicted = torch.stack([sine, cosine], 1) @ rate
            assert (predicted - pairs[shift:, pair]).abs().max() < 1e-3
    longer = Encoder(Architecture.model_validate({**SIZES, "position": "sinusoidal"}), 0.0)
    assert longer(tokens(length=64)).shape == (2, 64, 16), "longer than the table of learned positions"


@torch.no_grad()
def test_without_positions_the_order_of_tokens_is_not_seen() -> None:
    encoder = stirred_encoder({**SIZES, "position": "none", "depth": 2})
    assert torch.allclose(encoder(tokens()).flip(1), encoder(tokens().flip(1)), atol=1e-9)
    learned = stirred_encoder({**SIZES, "depth": 2})
    assert not torch.allclose(learned(tokens()).flip(1), learned(tokens().flip(1)), atol=1e-3)


@pytest.mark.parametrize(
    ("layers", "field"),
    [("(s f)*3", 7), ("s s f f f", 5), ("s <sep:5:1> f", 7), ("<[conv:3:1|sep:5:1] lin:1>", 5), ("[s|g] r", 3)],
)
def test_the_receptive_field_is_that_of_the_convolutions_of_the_program(layers: str, field: int) -> None:
    """Kernels of three beside self-attention, those of chains as written; the wider of parallel branches counts."""
    convolution = {"kind": "depthwise", "kernel_size": 3}
    drawn = Architecture.model_validate({**SIZES, "layers": layers, "convolution": convolution})
    assert receptive_field(drawn) == field
