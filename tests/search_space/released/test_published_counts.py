"""The closed forms give the known parameter counts, to the last value.

Of released models they are those of transformers (`tests/models/huggingface/test_released_counts.py`); of modes that
no release contains they are this project's own, held here so that a change of a layout shows.
"""

from typing import Any

import pytest

from search_space.architecture import Architecture
from search_space.convolution import Convolution, Depthwise, Dynamic, GatedDynamic, NoConvolution, SpanDynamic
from search_space.objective import ReplacedTokenDetection

SMALL: dict[str, Any] = {}  # the defaults are ELECTRA-Small
MEDIUM_SMALL: dict[str, Any] = {"width": 384, "heads": 8, "feed_forward_width": 1536}
BASE: dict[str, Any] = {"width": 768, "heads": 12, "embedding_width": 768, "feed_forward_width": 3072}

# each rung of the ladder adds to the one above it; released models: small and base +SDConv, medium-small +grouped
LADDER = (
    (SMALL, (13_483_008, 11_905_536, 13_143_768, 9_998_040)),
    (MEDIUM_SMALL, (25_315_968, 21_770_112, 24_553_776, 17_475_888)),
    (BASE, (108_891_648, 94_722_048, 105_680_520, 77_368_968)),
)


@pytest.mark.parametrize(("sizes", "known"), LADDER, ids=("small", "medium-small", "base"))
def test_every_rung_of_the_ladder_counts_as_known(sizes: dict[str, Any], known: tuple[int, ...]) -> None:
    ladder = (
        Architecture(**sizes),
        Architecture(**sizes, bottleneck_ratio=2),
        Architecture(**sizes, bottleneck_ratio=2, convolution=SpanDynamic()),
        Architecture(**sizes, bottleneck_ratio=2, convolution=SpanDynamic(), feed_forward_groups=2),
    )
    assert tuple(rung.parameters for rung in ladder) == known


@pytest.mark.parametrize(
    ("convolution", "known"),
    [
        (NoConvolution(), 11_905_536),
        (Depthwise(), 12_721_152),  # a layout of this project
        (Dynamic(), 12_721_368),  # a layout of this project, without the paper's gated linear unit
        (GatedDynamic(), 13_116_120),  # a layout of this project
        (SpanDynamic(), 13_143_768),
        (SpanDynamic(value="shared"), 12_749_016),  # the paper's equation 6, in no release
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_every_mode_of_table_2_counts_as_before(convolution: Convolution, known: int) -> None:
    assert Architecture(bottleneck_ratio=2, convolution=convolution).parameters == known


@pytest.mark.parametrize(("kernel_size", "millions"), [(1, 13.09), (9, 13.14), (33, 13.29)])
def test_kernel_size_barely_changes_the_count(kernel_size: int, millions: float) -> None:
    small = Architecture(bottleneck_ratio=2, convolution=SpanDynamic(kernel_size=kernel_size))
    assert round(small.parameters / 1e6, 2) == millions


@pytest.mark.parametrize(
    ("sizes", "groups", "ratio", "judge", "generator"),
    [
        (SMALL, 1, 4, 66_049, 810_086),
        (MEDIUM_SMALL, 2, 4, 148_225, 915_078),
        (BASE, 1, 3, 591_361, 9_564_178),
    ],
    ids=("small", "medium-small", "base"),
)
def test_pretraining_heads_count_as_before(
    sizes: dict[str, Any], groups: int, ratio: int, judge: int, generator: int
) -> None:
    released = Architecture(**sizes, bottleneck_ratio=2, convolution=SpanDynamic(), feed_forward_groups=groups)
    objective = ReplacedTokenDetection(generator="own", generator_ratio=ratio)
    smaller = objective.generator_of(released, Architecture(depth=1))
    assert objective.head_parameters(released, None) == judge
    assert objective.head_parameters(released, smaller) == judge + generator
