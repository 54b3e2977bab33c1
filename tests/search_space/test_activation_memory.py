"""The estimate of activation memory is near the measured memory of the built encoder, for every option."""

from typing import Any

import pytest
import torch

from search_space.activation_memory import activation_memory
from search_space.architecture import Architecture
from search_space.convolution import Convolution
from search_space.stack import Sharing
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.encoder import Encoder
from tests.factories.small_experiments import GROUPS, convolutions

TOLERANCE = 0.05  # the joined copy of the maps' weights, 1 to 3% at these sizes, is no activation
SIZES: dict[str, Any] = {
    "width": 128,
    "heads": 4,
    "embedding_width": 64,
    "feed_forward_width": 512,
    "vocabulary_size": 100,
    "positions": 128,
}
SEQUENCES, LENGTH = 8, 128


def kept(architecture: Architecture) -> int:
    """Return the bytes that a forward pass saves for the backward pass, each storage once."""
    encoder = Encoder(architecture, 0.0)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    tokens = torch.zeros(SEQUENCES, LENGTH, dtype=torch.long)
    return saved_bytes(lambda: encoder(tokens), encoder.parameters())


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("bottleneck_ratio", [1, 2])
@pytest.mark.parametrize("convolution", convolutions(9), ids=lambda option: option.kind)
def test_the_estimate_is_near_the_memory_of_the_encoder(
    convolution: Convolution, bottleneck_ratio: int, groups: int
) -> None:
    rest = {"bottleneck_ratio": bottleneck_ratio, "feed_forward_groups": groups, "convolution": convolution}
    one, two = (Architecture(**SIZES, **rest, depth=depth) for depth in (1, 2))
    of_one, of_two = kept(one), kept(two)
    estimate = activation_memory(two, LENGTH, SEQUENCES, 4, dropout=0.0)
    assert estimate.total == pytest.approx(of_two, rel=TOLERANCE)
    assert estimate.block == pytest.approx(of_two - of_one, rel=TOLERANCE)


MODERN = (
    {"normalisation": {"kind": "pre_norm", "norm": "rms_norm"}},
    {"normalisation": {"kind": "post_norm", "norm": "layer_norm_without_bias"}},
    {"position": "rotary", "convolution": {"kind": "depthwise"}, "feed_forward_activation": "swiglu"},
    {"key_value_heads": 2, "query_key_norm": True, "feed_forward_activation": "geglu", "feed_forward_groups": 2},
)


@pytest.mark.parametrize("parts", MODERN, ids=str)
def test_the_estimate_is_near_the_memory_of_todays_parts(parts: dict[str, Any]) -> None:
    one, two = (Architecture.model_validate({**SIZES, **parts, "depth": depth}) for depth in (1, 2))
    estimate = activation_memory(two, LENGTH, SEQUENCES, 4, dropout=0.0)
    assert estimate.block == pytest.approx(kept(two) - kept(one), rel=TOLERANCE)


@pytest.mark.parametrize("sharing", ["attention", "feed_forward", "all"])
def test_a_stack_of_shared_parameters_saves_as_much_as_one_of_its_own(sharing: Sharing) -> None:
    own, shared = (Architecture(**SIZES, depth=4, sharing=each) for each in ("none", sharing))
    estimate = activation_memory(shared, LENGTH, SEQUENCES, 4, dropout=0.0).total
    assert kept(shared) == pytest.approx(estimate, rel=TOLERANCE)
    assert kept(shared) <= kept(own)


PROGRAMS = (
    "[s|f] f",
    "[f|g] [s|<sep:3:1>]",
    "[s|<conv:3:1>]",
    "[<conv:3:0.5>|<conv:5:1>]",
    "<lin:4:relu lin:1>",
    "<sep:9:2:relu ln lin:1>",
    "<lin:2:relu conv:3:1>",
    "<[lin:4:relu|conv:3:0.5:relu] ln sep:9:0.5>",
    "<[conv:3:1|conv:5:0.5] lin:1:relu lin:1>",
    "<[sep:3:1|lin:1] lin:4:swish lin:1>",
)


@pytest.mark.parametrize("visibility", ["bidirectional", "left_to_right"])
@pytest.mark.parametrize("layers", PROGRAMS)
def test_what_branches_and_operations_both_save_counts_once(layers: str, visibility: str) -> None:
    sizes = SIZES | {"visibility": visibility}
    one, two = (Architecture(**sizes, layers=f"({layers})*{times}") for times in (1, 2))
    estimate = activation_memory(two, LENGTH, SEQUENCES, 4, dropout=0.0)
    added = estimate.total - activation_memory(one, LENGTH, SEQUENCES, 4, dropout=0.0).total
    assert added == pytest.approx(kept(two) - kept(one), rel=TOLERANCE)
