"""The soft cap of attention's scores: transformers' Gemma 2, costs, refusals; windows: test_attention_windows.py."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from search_space.activation_memory import activation_memory
from search_space.architecture import Architecture
from search_space.cost import CONVENTIONS
from search_space.sublayer.attention import BLOCK
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.attention_maps import attention_map
from steeplechase.models.continuation import by_head
from steeplechase.models.encoder import Encoder
from steeplechase.models.sublayer.attention import Sublayer
from tests.factories.sublayers import SIZES, drawn_inputs, stirred_attention

CAP = 0.2  # so low that it bends the scores of these inputs


def built(**fields: Any) -> Sublayer:
    return stirred_attention(**{"attention_score_cap": CAP, **fields})


@pytest.mark.parametrize("position", ["none", "rotary"])
@pytest.mark.parametrize("key_value_heads", [2, 4])
@torch.no_grad()
def test_it_is_the_attention_of_gemma_2(key_value_heads: int, position: str) -> None:
    """With shared keys, padding and rotary positions, to the rounding of transformers' float32 softmax."""
    from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

    attention, x = built(key_value_heads=key_value_heads, position=position), drawn_inputs(11)
    real = torch.arange(11)[None] < torch.tensor([[11], [7]])
    q, k, v = (
        by_head(part(x), heads)
        for part, heads in (
            (attention.query, 4), (attention.key, key_value_heads), (attention.value, key_value_heads)
        )
    )  # fmt: skip
    q, k, terms = attention.with_positions(q, k)
    assert terms is None
    module = SimpleNamespace(num_key_value_groups=4 // key_value_heads, head_dim=4, training=False)
    hidden = torch.zeros(2, 1, 1, 11).masked_fill(~real[:, None, None, :], -torch.inf)
    theirs, weights = eager_attention_forward(module, q, k, v, hidden, scaling=0.5, softcap=CAP)
    assert (attention(x, real) - attention.output(theirs.flatten(2)))[real].abs().max() < 1e-6
    assert (attention_map(attention, x, real) - weights).abs().max() < 1e-6
    assert (built(key_value_heads=key_value_heads, position=position, attention_score_cap=None)(x, real)
            - attention(x, real))[real].abs().max() > 1e-3  # fmt: skip


@torch.no_grad()
def test_no_weight_is_more_than_twice_the_cap_above_another_however_large_the_queries() -> None:
    attention = built()
    attention.query.weight.mul_(1e6)
    weights = attention_map(attention, drawn_inputs(9), None)
    most, bound = (weights.amax(-1) / weights.amin(-1)).max().item(), math.exp(2 * CAP)
    assert 0.999 * bound < most < bound + 1e-9


@pytest.mark.parametrize("position", ["none", "alibi", "relative", "rotary"])
@torch.no_grad()
def test_a_distant_cap_changes_nothing_and_a_near_one_bounds_positions_too(position: str) -> None:
    distant, none = (built(position=position, attention_score_cap=cap) for cap in (1e6, None))
    assert (distant(drawn_inputs(9)) - none(drawn_inputs(9))).abs().max() < 1e-9
    weights = attention_map(built(position=position), drawn_inputs(40), None)
    assert (weights.amax(-1) / weights.amin(-1)).max() <= torch.tensor(2 * CAP).exp() + 1e-9


@torch.no_grad()
def test_in_bfloat16_scores_are_capped_in_float32() -> None:
    attention, x = built(attention_score_cap=5.0).float(), drawn_inputs(9).float()
    with torch.autocast("cpu", torch.bfloat16):
        found = attention(x)
    assert found.isfinite().all()
    assert (found - attention(x)).abs().max() < 0.05 * attention(x).abs().max()


def test_it_costs_a_tangent_for_every_pair_and_no_matrix_product() -> None:
    plain, capped = (Architecture(**SIZES, attention_score_cap=cap) for cap in (None, 50.0))
    assert plain.parameters == capped.parameters
    assert plain.forward_flops(16) == capped.forward_flops(16)
    prices = CONVENTIONS["electra"].prices
    tangents = (2 * prices.scalings + prices.sigmoids) * 16 * 16 * 4
    assert (
        capped.forward_flops(16, CONVENTIONS["electra"]) - plain.forward_flops(16, CONVENTIONS["electra"]) == tangents
    )


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("parts", [{}, {"key_value_heads": 1}, {"local": 128}, {"value_width": 6}], ids=str)
def test_the_weights_of_all_pairs_are_stored(parts: dict[str, Any], dropout: float) -> None:
    """The estimate is the measured memory: weights and their tangents, with dropout its mask and its result too.

    A mask is counted as one byte per element, and is one of 4 on processors.
    """
    length = 8 * BLOCK
    sizes = {**SIZES, "attention_score_cap": CAP, "positions": length, **parts}
    one, two = (Architecture.model_validate({**sizes, "depth": depth}) for depth in (1, 2))
    found = kept(two, dropout) - kept(one, dropout)
    masks = sum(part.copies * (part.stored_weights or part.operations.dropped) for part in one.block_parts(length))
    on_processors = activation_memory(two, length, 2, 4, dropout).block + (3 * 2 * length * masks if dropout else 0)
    assert on_processors == pytest.approx(found, rel=0.01)


def kept(architecture: Architecture, dropout: float) -> int:
    """Return the bytes that a forward pass in training saves for the backward pass."""
    encoder = Encoder(architecture, dropout).train()
    tokens = torch.zeros(2, 8 * BLOCK, dtype=torch.long)
    return saved_bytes(lambda: encoder(tokens), encoder.parameters())


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"attention_score_cap": 0}, "greater than 0"),
        ({"attention_score_cap": -5.0}, "greater than 0"),
        ({"attention_score_cap": float("inf")}, "finite"),
        ({"kind": "encoder_decoder", "attention_score_cap": 50.0}, "attention_score_cap"),
    ],
)
def test_what_a_cap_cannot_be_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Architecture.model_validate(document)
