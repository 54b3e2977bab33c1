"""Windows, shared keys and normalised queries: equations, exact zeros outside a window, costs, blocks, decoding."""

from typing import Any

import pytest
import torch
from torch import Tensor

from search_space.architecture import Architecture
from search_space.sublayer.attention import BLOCK, SelfAttention
from search_space.visibility import Visibility
from steeplechase.models.attention_maps import attention_map
from steeplechase.models.continuation import continuation_of
from steeplechase.models.encoder import Encoder
from tests.factories.sublayers import SIZES, drawn_inputs, stirred_attention

VISIBILITIES = ("bidirectional", "left_to_right", "right_to_left", "prefix")
LONG = 6 * BLOCK + 7
CAP = 0.2
"""Of scores, so low that it bends those of these inputs."""


def allowed(visibility: str, length: int, reach: int) -> Tensor:
    """Return which queries read which keys [queries keys], of a row without a prefix."""
    distance = torch.arange(length)[:, None] - torch.arange(length)
    near = distance.abs() <= reach
    return {"bidirectional": near, "right_to_left": near & (distance <= 0)}.get(visibility, near & (distance >= 0))


@pytest.mark.parametrize("cap", [None, CAP])
@pytest.mark.parametrize("length", [9, LONG])
@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_outside_a_window_every_gradient_is_exactly_zero(
    visibility: Visibility, length: int, cap: float | None
) -> None:
    """In one product with a mask and block by block; inside it none is, and padding is never read."""
    attention = stirred_attention(local=6, visibility=visibility, position="rotary", attention_score_cap=cap)
    real = (torch.arange(length) < length - 2)[None].expand(2, -1)
    for padding_mask in (None, real):
        x = drawn_inputs(length).requires_grad_()
        out = attention(x, padding_mask)
        for place in (0, length // 2, length - 3):
            (gradient,) = torch.autograd.grad(out[:, place].sum(), x, retain_graph=True)
            may = allowed(visibility, length, 3)[place]
            may = may if padding_mask is None else may & real[0]
            assert ((gradient.abs().sum(-1) > 0) == may).all()
        assert out.isfinite().all()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("visibility", VISIBILITIES)
@torch.no_grad()
def test_blocks_equal_one_product_with_a_mask(visibility: Visibility, padded: bool) -> None:
    attention = stirred_attention(
        local=80, visibility=visibility, key_value_heads=2, position="rotary", query_key_norm=True
    )
    x, lengths = drawn_inputs(LONG, 3), torch.tensor([LONG, LONG - 100, 3])
    real = torch.arange(LONG)[None] < lengths[:, None] if padded else None
    assert attention.declaration.reads_in_blocks(LONG)
    weights = attention_map(attention, x, real)
    values = attention.value(x).unflatten(-1, (2, -1)).transpose(1, 2).repeat_interleave(2, 1)
    expected = attention.output((weights @ values).transpose(1, 2).flatten(-2))
    inside = torch.ones(3, LONG, dtype=torch.bool) if real is None else real
    assert (attention(x, real) - expected)[inside].abs().max() < 1e-12


@pytest.mark.parametrize("visibility", ["bidirectional", "left_to_right", "right_to_left"])
@pytest.mark.parametrize(("length", "local"), [(1, 4), (3, 8), (9, 4), (12, 22), (20, 2)])
def test_the_pairs_of_a_window_are_those_that_it_reads(visibility: Visibility, length: int, local: int) -> None:
    declaration = stirred_attention(local=local, visibility=visibility).declaration
    assert declaration.pairs(length) == int(allowed(visibility, length, local // 2).sum())
    (scores,) = (part for part in declaration.components(length) if part.role == "attention scores")
    products = declaration.pairs(length) * (declaration.keys + declaration.values)
    assert 0 <= products - scores.operations.multiply_adds * length < length


@pytest.mark.parametrize("heads", [1, 2])
@torch.no_grad()
def test_heads_that_share_keys_are_heads_with_equal_keys(heads: int) -> None:
    """Ainslie et al. 2023: the maps of shared keys and values, repeated, in attention with a key for every head."""
    shared, whole = stirred_attention(key_value_heads=heads), stirred_attention()
    state = shared.state_dict()
    for name in ("key", "value"):
        for part in ("weight", "bias"):
            by_head = state[f"{name}.{part}"].unflatten(0, (heads, -1))
            state[f"{name}.{part}"] = by_head.repeat_interleave(4 // heads, 0).flatten(0, 1)
    whole.load_state_dict(state)
    assert (shared(drawn_inputs(9)) - whole(drawn_inputs(9))).abs().max() < 1e-12


@torch.no_grad()
def test_normalised_queries_and_keys_have_scores_without_their_lengths() -> None:
    attention = stirred_attention(query_key_norm=True, normalisation={"kind": "post_norm", "norm": "rms_norm"})
    before = attention(drawn_inputs(9))
    for layer in (attention.query, attention.key):
        layer.weight.mul_(8)
        layer.bias.mul_(8)
    assert (attention(drawn_inputs(9)) - before).abs().max() < 1e-3
    assert attention.query_norm is not None
    attention.query_norm.weight.mul_(2)
    assert (attention(drawn_inputs(9)) - before).abs().max() > 1e-2


@pytest.mark.parametrize(
    "parts",
    [
        {"local": 4},
        {"key_value_heads": 1, "query_key_norm": True, "position": "alibi"},
        {"attention_score_cap": CAP},
        {"attention_score_cap": CAP, "local": 4},
        {"attention_score_cap": CAP, "key_value_heads": 1, "position": "alibi"},
    ],
    ids=str,
)
@torch.no_grad()
def test_tokens_one_by_one_equal_one_pass(parts: dict[str, Any]) -> None:
    attention, x = stirred_attention(visibility="left_to_right", **parts), drawn_inputs(9)
    continued = continuation_of(attention, None)
    found = [continued(x[:, :3]), *(continued(x[:, place : place + 1]) for place in range(3, 9))]
    assert (torch.cat(found, 1) - attention(x)).abs().max() < 1e-12


def test_a_layer_has_a_window_of_its_own() -> None:
    sizes = {name: value for name, value in SIZES.items() if name != "depth"}
    position = {"kind": "rotary", "base": 160_000.0, "local_base": 10_000.0}
    architecture = Architecture.model_validate(
        {**sizes, "position": position, "local": 4, "layers": "s(local=none) f (s f)*2"}
    )
    assert [*architecture.violations()] == []
    attentions = [each for block in architecture.blocks for each in block if isinstance(each, SelfAttention)]
    assert [each.local for each in attentions] == [None, 4, 4]
    bases = [each.get_submodule("attention.relative").base for each in Encoder(architecture, 0.0).blocks]
    assert bases == [160_000.0, 10_000.0, 10_000.0]


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"key_value_heads": 3}, "key_value_heads", "key_value_heads 3 does not divide 4 heads. Allowed near it: 1,"),
        ({"layers": "s(key_value_heads=3) f"}, "layers", "key_value_heads 3 does not divide 4 heads"),
        ({"layers": "s(local=5) f"}, "layers", "local=5 is odd; half of the window is on each side. Did you mean 4"),
        (
            {"key_value_heads": 2, "convolution": {"kind": "dynamic", "value": "shared"}},
            "key_value_heads",
            "key_value_heads 2: dynamic with shared values reads those of 4 heads; write value: own",
        ),
        (
            {"local": 4, "memory": 8, "visibility": "left_to_right", "position": "rotary"},
            "local",
            "a window reads neither a memory nor a drawn order; leave local out",
        ),
    ],
)  # fmt: skip
def test_what_attention_cannot_be_is_one_line(fields: dict[str, Any], path: str, message: str) -> None:
    sizes = {name: value for name, value in SIZES.items() if name != "depth"}
    (violation,) = Architecture.model_validate({**sizes, **fields}).violations()
    assert violation.path == (path,)
    assert violation.message.startswith(message)
