"""An invalid candidate is refused; the message has rule, values and remedy."""

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import SpanDynamic
from search_space.convolution.kernel import WithKernel
from search_space.convolution.option import ConvolutionOption
from search_space.objective import MaskedLanguageModel, PermutationLanguageModel, ReplacedTokenDetection
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.recipe import Recipe
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.schema import options_of
from tests.factories.small_experiments import divisors

WITH_KERNEL = tuple(option for option in options_of(ConvolutionOption) if issubclass(option, WithKernel))


def broken(candidate: Candidate) -> dict[tuple[str | int, ...], str]:
    return {violation.path: violation.message for violation in candidate.violations()}


SIZES = ("width", "embedding_width", "heads", "key_width", "value_width", "key_value_heads", "feed_forward_width")


@pytest.mark.parametrize("size", SIZES)
def test_a_size_that_no_sublayer_may_have_is_refused_under_its_field(size: str) -> None:
    with pytest.raises(ValidationError, match="less than or equal to 2147483648"):
        Architecture.model_validate({size: 2**31 + 1})


@pytest.mark.parametrize("objective", [MaskedLanguageModel(), ReplacedTokenDetection(), PermutationLanguageModel()])
def test_too_many_blocks_are_refused_under_their_field(objective: PretrainingObjective) -> None:
    candidate = Candidate(architecture=Architecture(depth=10**8), objective=objective)
    assert broken(candidate)["architecture", "depth"] == "100000000 blocks are too many; allowed: 1 to 2048"


@given(
    st.sampled_from((("heads", "width"), ("feed_forward_groups", "feed_forward_width"))),
    st.integers(1, 200),
    st.integers(1, 200),
)
def test_a_divisor_is_refused_if_and_only_if_it_does_not_divide(
    pair: tuple[str, str], divisor: int, whole: int
) -> None:
    divisor_name, whole_name = pair
    found = {
        violation.path: violation
        for violation in Architecture.model_validate({divisor_name: divisor, whole_name: whole}).violations()
    }
    about = [each for each in found.values() if f"{divisor} does not divide {whole_name} {whole};" in each.message]
    assert bool(about) == (whole % divisor != 0)
    for violation in about:
        assert violation.path == (divisor_name,)
        near = [int(number) for number in violation.message.rpartition(": ")[2].split(", ")]
        assert near == sorted(near)
        assert set(near) <= set(divisors(whole))


@pytest.mark.parametrize(
    ("heads", "ratio", "kept", "text"),
    [
        (12, 1.5, 8, "1.5"),
        (8, "4/3", 6, '"4/3"'),
        (12, "3/2", 8, "1.5"),
        (6, 1.2, 5, "1.2"),
        (4, 2.0, 2, "2"),
        (4, "8/4", 2, "2"),
        (1, 1.0, 1, None),
    ],
)
def test_a_ratio_keeps_whole_heads_and_has_one_canonical_text(
    heads: int, ratio: float | str, kept: int, text: str | None
) -> None:
    written = Architecture.model_validate({"width": 24 * heads, "heads": heads, "bottleneck_ratio": ratio})
    assert list(written.violations()) == []
    assert written.attention_shape.heads == kept
    assert canonical(written).get("bottleneck_ratio") == (None if text is None else json.loads(text))
    assert type(written.bottleneck_ratio) is type(json.loads(text or "1"))
    assert Architecture.model_validate_json(written.model_dump_json()) == written


@given(st.integers(1, 40), st.fractions(1, 45, max_denominator=60))
def test_a_ratio_is_refused_if_and_only_if_it_splits_a_head_and_the_ratios_named_fit(
    heads: int, ratio: Fraction
) -> None:
    sizes = {"width": heads, "heads": heads}
    drawn = Architecture.model_validate({**sizes, "bottleneck_ratio": f"{ratio.numerator}/{ratio.denominator}"})
    found = list(drawn.violations())
    assert bool(found) == ((heads / ratio).denominator != 1)
    for violation in found:
        assert violation.path == ("bottleneck_ratio",)
        for near in violation.message.rpartition(": ")[2].split(", "):
            read = near if "/" in near else float(near)
            assert list(Architecture.model_validate({**sizes, "bottleneck_ratio": read}).violations()) == []


@pytest.mark.parametrize("ratio", [0, 0.5, "1/2", "3", "a", "1/0", True, -1, None, {"a": 2}, "1.5"])
def test_what_is_no_ratio_is_refused_in_one_line(ratio: object) -> None:
    with pytest.raises(ValidationError, match=r"is no ratio from 1; write a number such as 2 or 1\.5"):
        Architecture.model_validate({"bottleneck_ratio": ratio})


@pytest.mark.parametrize("option", WITH_KERNEL)
@pytest.mark.parametrize("kernel_size", [8])
def test_an_even_kernel_is_refused_with_both_neighbours(option: type[WithKernel], kernel_size: int) -> None:
    with pytest.raises(
        ValidationError, match=rf"Did you mean {kernel_size - 1} or {kernel_size + 1}, or window: l.*\?"
    ):
        option(kernel_size=kernel_size)


@pytest.mark.parametrize("option", WITH_KERNEL)
@given(st.integers(1, 1023))
def test_a_one_sided_window_has_any_kernel_size(option: type[WithKernel], kernel_size: int) -> None:
    for window, reach in (("look_back", (kernel_size - 1, 0)), ("look_ahead", (0, kernel_size - 1))):
        one_sided = option(kernel_size=kernel_size, window=window)
        assert one_sided.reach is not None
        assert (one_sided.reach.look_back, one_sided.reach.look_ahead) == reach


@given(st.integers(8, 200), st.integers(0, 500).map(lambda half: 2 * half + 1))
def test_a_kernel_may_reach_over_a_sequence_and_not_past_it(length: int, kernel_size: int) -> None:
    candidate = Candidate(
        architecture=Architecture(convolution=SpanDynamic(kernel_size=kernel_size)),
        recipe=Recipe(sequence_length=length),
    )
    reaches_past = kernel_size // 2 >= length
    assert bool(broken(candidate)) == reaches_past
    assert set(broken(candidate)) <= {("architecture", "convolution", "kernel_size")}


def test_a_sequence_is_no_longer_than_the_table_of_positions() -> None:
    candidate = Candidate(architecture=Architecture(positions=64))
    assert broken(candidate) == {
        ("recipe", "sequence_length"): "128 is longer than the 64 positions of the architecture"
    }


@pytest.mark.parametrize("parts", ["next_sentence_prediction", ("word_structure", "sentence_structure")])
@pytest.mark.parametrize(("segments", "fit"), [(0, True), (1, False), (2, True)])
def test_pairs_of_segments_need_two_segment_embeddings_or_none(
    parts: str | tuple[str, ...], segments: int, fit: bool
) -> None:
    objective = parts if isinstance(parts, str) else {"kind": "combined", "parts": parts}
    candidate = Candidate.model_validate({"architecture": {"segments": segments}, "objective": objective})
    found = [violation for violation in candidate.violations() if violation.path == ("architecture", "segments")]
    assert not found if fit else "Write 2, or 0 for none" in found[0].message


@pytest.mark.parametrize("objective", [MaskedLanguageModel, ReplacedTokenDetection])
def test_masking_shares_sum_to_at_most_one(objective: type[MaskedLanguageModel | ReplacedTokenDetection]) -> None:
    assert broken(Candidate(objective=objective(mask_token_share=0.8, random_token_share=0.2))) == {}
    paths = set(broken(Candidate(objective=objective(mask_token_share=0.8, random_token_share=0.3))))
    assert paths == {("objective", "random_token_share")}


@pytest.mark.parametrize(
    "wrong",
    [
        {"depth": 0},
        {"depth": "12"},
        {"depth": 12.0},
        {"depht": 12},
        {"width": True},
        {"convolution": {"kind": "sdconv"}},
    ],
    ids=str,
)
def test_a_wrong_value_or_name_is_refused_at_once(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=re.escape(next(iter(wrong)))):
        Architecture.model_validate(wrong)
