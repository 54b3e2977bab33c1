"""FLOP conventions: ELECTRA's reproduces the published numbers exactly; ours equals a counted run."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import (
    Convolution,
    Depthwise,
    Dynamic,
    GatedDynamic,
    Lightweight,
    NoConvolution,
    SpanDynamic,
)
from search_space.cost import CONVENTIONS, Role
from search_space.objective import MaskedLanguageModel, Objective, ReplacedTokenDetection
from search_space.recipe import Recipe
from tests.factories.small_experiments import architecture, architectures, convolutions, of_table_2

ELECTRA, CORRECTED = CONVENTIONS["electra"], CONVENTIONS["electra_corrected"]
UPDATES = 1_000_000
BASE: dict[str, Any] = {"width": 768, "embedding_width": 768, "heads": 12, "feed_forward_width": 3072}
MEDIUM: dict[str, Any] = {"width": 384, "heads": 8, "feed_forward_width": 1536}


def published(
    sizes: dict[str, Any], ratio: int, sequences: int, length: int = 128, objective: Objective | None = None
) -> Candidate:
    detection = ReplacedTokenDetection(generator="own", generator_ratio=ratio)
    recipe = Recipe(batch_sequences=sequences, sequence_length=length)
    return Candidate(architecture=Architecture(**sizes), objective=objective or detection, recipe=recipe)


def train_flops(candidate: Candidate, updates: int) -> int:
    return candidate.train_flops(updates * candidate.recipe.tokens_per_step, candidate.architecture, ELECTRA)


LARGE: dict[str, Any] = {"depth": 24, "width": 1024, "embedding_width": 1024, "heads": 16, "feed_forward_width": 4096}


@pytest.mark.parametrize(
    ("candidate", "updates", "printed"),
    [
        (published({}, 4, 128, objective=MaskedLanguageModel()), 1_450_000, 1.4187399146496e18),
        (published(BASE, 3, 256, 512, MaskedLanguageModel()), 1_000_000, 6.428335104e19),
        (published({}, 4, 128), 1_000_000, 1.293743798272e18),
        (published(BASE, 3, 256, 512), 766_000, 6.424541834277683e19),
        (published(LARGE, 4, 2048, 512), 400_000, 7.117606040895488e20),
        (published(LARGE, 4, 2048, 512), 1_750_000, 3.113952642891776e21),
    ],
    ids=("bert_small", "bert_base", "electra_small", "electra_base", "electra_400k", "electra_1.75M"),
)
def test_the_flops_of_electras_script_are_reproduced_exactly(
    candidate: Candidate, updates: int, printed: float
) -> None:
    assert float(train_flops(candidate, updates)) == printed


# ConvBERT's Table 1, rebuilt from the release's layout: forward and without embeddings are free of the script's two
# slips, training has them. Rows: BERT, +BNK, +GL, +BNK+GL, +BNK+SDConv, +BNK+GL+SDConv.
BOTTLENECK: dict[str, Any] = {"bottleneck_ratio": 2}
GROUPED: dict[str, Any] = {"feed_forward_groups": 2}
SPAN: dict[str, Any] = BOTTLENECK | {"convolution": SpanDynamic()}
VARIANTS: tuple[dict[str, Any], ...] = ({}, BOTTLENECK, GROUPED, BOTTLENECK | GROUPED, SPAN, SPAN | GROUPED)
TABLE_1 = {
    "small": (
        published({}, 4, 128),
        (
            (13_483_008, "3.679e+09", "2.666e+09", "1.294e+18"),
            (11_905_536, "3.171e+09", "2.158e+09", "1.177e+18"),
            (10_337_280, "2.874e+09", "1.861e+09", "1.075e+18"),
            (8_759_808, "2.366e+09", "1.353e+09", "9.576e+17"),
            (13_143_768, "3.492e+09", "2.479e+09", "1.270e+18"),
            (9_998_040, "2.687e+09", "1.674e+09", "1.051e+18"),
        ),
    ),
    "medium": (
        published(MEDIUM, 4, 128),
        (
            (25_315_968, "6.845e+09", "5.828e+09", "2.160e+18"),
            (21_770_112, "5.779e+09", "4.762e+09", "1.887e+18"),
            (18_238_080, "5.033e+09", "4.016e+09", "1.667e+18"),
            (14_692_224, "3.967e+09", "2.950e+09", "1.394e+18"),
            (24_553_776, "6.497e+09", "5.480e+09", "2.083e+18"),
            (17_475_888, "4.685e+09", "3.668e+09", "1.590e+18"),
        ),
    ),
    "base": (
        published(BASE, 3, 256),
        (
            (108_891_648, "2.862e+10", "2.259e+10", "1.961e+19"),
            (94_722_048, "2.468e+10", "1.866e+10", "1.743e+19"),
            (80_580_096, "2.137e+10", "1.535e+10", "1.548e+19"),
            (66_410_496, "1.744e+10", "1.141e+10", "1.331e+19"),
            (105_680_520, "2.750e+10", "2.147e+10", "1.904e+19"),
            (77_368_968, "2.025e+10", "1.422e+10", "1.491e+19"),
        ),
    ),
}


@pytest.mark.parametrize("size", TABLE_1)
@pytest.mark.parametrize("row", range(len(VARIANTS)))
def test_table_1_of_convbert_is_reproduced(size: str, row: int) -> None:
    plain, rows = TABLE_1[size]
    architecture = plain.architecture.model_copy(update=VARIANTS[row])
    candidate = plain.model_copy(update={"architecture": architecture})
    judge = ReplacedTokenDetection().added_parts(architecture, None, 128)
    forward = CORRECTED.flops((*architecture.parts(128), *judge), 128)
    without_embeddings = CORRECTED.flops((*architecture.block_parts(128), *judge), 128)
    found = (forward, without_embeddings, train_flops(candidate, UPDATES))
    assert (architecture.parameters, *(f"{number:.3e}" for number in found)) == rows[row]


def of_branch(convolution: Convolution, drawn: Architecture) -> int:
    """Return the FLOPs of a branch per token by ELECTRA's rules, derived independently."""
    shape = drawn.attention_shape
    h, inner, heads, k = shape.width, shape.inner_width, shape.heads, getattr(convolution, "kernel_size", 0)
    value = 2 * h * inner + inner
    window = 2 * inner * k
    separable = 2 * h * k + 2 * h * inner + inner
    kernels = 2 * inner * heads * k + heads * k + 5 * heads * k
    charged = {
        NoConvolution: 0,
        Depthwise: separable,
        Lightweight: value + window,
        Dynamic: value + kernels + window,
        GatedDynamic: 2 * value + 5 * inner + kernels + window,
        SpanDynamic: separable + inner + kernels + value + window,
    }
    return charged[type(convolution)]


@pytest.mark.parametrize("convolution", of_table_2(convolutions(9)), ids=lambda option: option.kind)
def test_electras_rules_extend_to_every_branch(convolution: Convolution) -> None:
    drawn = architecture(convolution)
    (branch,) = (part for part in drawn.block_parts(20) if part.role is Role.CONVOLUTION)
    assert ELECTRA.part_flops(branch, 20) == drawn.depth * 20 * of_branch(convolution, drawn)


@given(architectures(), st.integers(1, 40))
@settings(max_examples=60)
def test_the_script_differs_from_its_corrected_form_by_two_miscounts(drawn: Architecture, length: int) -> None:
    width, inner = drawn.width, drawn.attention_shape.inner_width
    slips = 2 * length * (width - inner) - 5 * (width - 1)
    difference = drawn.forward_flops(length, ELECTRA) - drawn.forward_flops(length, CORRECTED)
    assert difference == drawn.depth * length * slips
