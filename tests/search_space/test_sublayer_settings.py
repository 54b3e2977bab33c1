"""A self-attention sublayer of a layer program may have a convolution, a kernel size and a γ of its own."""

from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import Depthwise, NoConvolution, SpanDynamic
from search_space.sublayer.attention import SelfAttention
from steeplechase.foundation.schema import options_changed
from steeplechase.foundation.stand_ins import OF_RECORD, CodeNeeded, forget_stand_ins
from steeplechase.models.encoder import Encoder

SIZES = {
    "width": 24, "embedding_width": 12, "heads": 4, "feed_forward_width": 32, "vocabulary_size": 50, "positions": 32,
}  # fmt: skip
SPAN = {"kind": "span_dynamic", "kernel_size": 5}
PROGRAMS = (
    ("s(bottleneck_ratio=2) f s(bottleneck_ratio=4/3) f s f(groups=2)", "none"),
    ("s(convolution=none) f s(kernel_size=3) f s(bottleneck_ratio=2,kernel_size=9) f(groups=4)", SPAN),
    ("s(convolution=dynamic,kernel_size=3,value=shared) f [s(convolution=depthwise)|f]", "none"),
)


def built(layers: str, **changes: object) -> Architecture:
    return Architecture.model_validate({**SIZES, "layers": layers, **changes})


@pytest.mark.parametrize(("layers", "convolution"), PROGRAMS)
def test_the_closed_form_counts_parameters_and_matmuls_of_the_built_module(layers: str, convolution: object) -> None:
    drawn = built(layers, convolution=convolution)
    assert [*drawn.violations()] == []
    assert Architecture.model_validate_json(drawn.model_dump_json()) == drawn
    with torch.device("meta"):
        encoder = Encoder(drawn, 0.0)
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            encoder(torch.zeros(3, 20, dtype=torch.long))
    assert sum(each.numel() for each in encoder.parameters()) == drawn.parameters
    windows = sum(_elementwise(each) for block in drawn.blocks for each in block)
    assert counter.get_total_flops() == 3 * (drawn.forward_flops(20) - 20 * windows)


def _elementwise(sublayer: object) -> int:
    """Return the FLOPs per token of windows, which the counter omits."""
    branches = (getattr(sublayer, "first", sublayer), getattr(sublayer, "second", None))
    attention = [each for each in branches if isinstance(each, SelfAttention)]
    return sum(each.convolution.elementwise_flops(each.shape) or 0 for each in attention)


def test_a_field_alone_changes_the_stacks_convolution_and_another_kind_has_its_own_defaults() -> None:
    stack = {**SPAN, "value": "shared"}
    drawn = built("s f s(kernel_size=3) f s(convolution=none) f s(convolution=depthwise) f", convolution=stack)
    assert drawn.convolutions == (
        SpanDynamic(kernel_size=5, value="shared"),
        SpanDynamic(kernel_size=3, value="shared"),
        NoConvolution(),
        Depthwise(),
    )


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ("s(kernel_size=3) f", "kernel_size is no setting of s with the convolution none; its settings: heads, "),
        ("s(convolution=dynamc) f", "convolution=dynamc is unknown; allowed: depthwise, dynamic, "),
        ("s(convolution=dynamic,kernel_size=4) f", "kernel_size: 4 is even; "),
        ("s(bottleneck_ratio=3) f", "bottleneck_ratio 3 does not divide heads 4; γ keeps whole heads. Allowed near"),
        ("s(bottleneck_ratio=1/2) f", "bottleneck_ratio: '1/2' is no ratio from 1; "),
        ("s(convolution=dynamic,kernel_size=wide) f", "kernel_size: Input should be a valid integer"),
        ("s(convolution=dynamic,kernel_size=99) f", "99 reaches past a whole sequence of 32 tokens"),
        ("s f(groups=5)", "groups 5 does not divide the model's width 24"),
    ],
)
def test_settings_that_cannot_be_built_are_refused_in_one_line(layers: str, message: str) -> None:
    candidate = Candidate.model_validate(
        {"architecture": {**SIZES, "layers": layers}, "recipe": {"sequence_length": 32}}
    )
    found = [violation for violation in candidate.violations() if violation.message.startswith(message)]
    assert [violation.path for violation in found] == [("architecture", "layers")]


def test_a_window_that_reads_hidden_tokens_is_refused_in_a_layer_too() -> None:
    message = "a centred window reads tokens that left_to_right attention hides; allowed: look_back"
    causal = [*built("s(convolution=dynamic) f", visibility="left_to_right").violations()]
    assert [(each.path, each.message) for each in causal] == [(("layers",), message)]
    fitting = built("s(convolution=dynamic,kernel_size=4,window=look_back) f", visibility="left_to_right")
    assert [*fitting.violations()] == []


@pytest.mark.parametrize("ratio", [1, 2, 3, 4])
def test_a_generator_of_own_ratios_is_a_valid_architecture(ratio: int) -> None:
    for layers, convolution in PROGRAMS[:2]:
        assert [*built(layers, convolution=convolution).shrunk(ratio).violations()] == []


OWN_SIZES: list[dict[str, Any]] = [
    {"width": 30, "heads": [1, 3]},
    {"width": 36, "heads": [3, 6], "bottleneck_ratio": 3},
    {"width": 36, "heads": 6, "feed_forward_width": [6, 9], "feed_forward_groups": 3},
    {"width": 30, "heads": [6, 10]},
    {"width": 24, "heads": [24, 8]},
]


@pytest.mark.parametrize("sizes", OWN_SIZES, ids=str)
@pytest.mark.parametrize("ratio", [1, 2, 3, 4])
def test_the_stacks_size_is_no_rule_where_each_sublayer_has_its_own_in_a_generator_too(
    sizes: dict[str, Any], ratio: int
) -> None:
    architecture = Architecture(depth=2, **sizes)
    assert [*architecture.violations()] == []
    generator = architecture.shrunk(ratio)
    assert [*generator.violations()] == []
    assert ratio > 1 or generator.width == architecture.width


def test_the_stacks_heads_are_a_rule_where_one_sublayer_has_none_of_its_own() -> None:
    for layers in ("s(heads=3) f s f", "[s(heads=3)|s] f"):
        found = [*Architecture(width=30, heads=4, layers=layers).violations()]
        assert ("heads",) in [each.path for each in found]


def test_a_memory_and_a_drawn_order_refuse_a_convolution_of_one_layer() -> None:
    found = [*built("s f s(convolution=dynamic) f", memory=8, position="relative").violations()]
    assert [each.path for each in found] == [("memory",)]
    assert "s(convolution=dynamic) reads no memory; allowed sublayers: s, f and g" in found[0].message


def test_a_record_with_the_convolution_of_a_plugin_that_is_not_loaded_is_read_and_builds_nothing() -> None:
    document = {**SIZES, "layers": "s(convolution=elsewhere,reach=3) f"}
    try:
        recorded = Architecture.model_validate(document, context=OF_RECORD)
        assert recorded.layers == "s(convolution=elsewhere,reach=3) f"
        with pytest.raises(CodeNeeded, match="elsewhere: is of a plugin"):
            [*recorded.violations()]
    finally:
        forget_stand_ins()
        options_changed()
