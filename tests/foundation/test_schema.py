"""Equal declarations have equal fingerprints, unequal ones do not, and a new axis changes no existing one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError, create_model

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import SpanDynamic
from search_space.convolution.option import ConvolutionOption
from search_space.objective import MaskedLanguageModel, ReplacedTokenDetection
from search_space.optimiser.option import OptimiserOption
from search_space.recipe import Recipe
from search_space.schedule.option import ScheduleOption
from steeplechase.foundation.canonical import canonical, canonical_text, fingerprint
from steeplechase.foundation.schema import Count, Name, Schema, options_of
from tests.factories.small_experiments import architectures, convolutions

FEW = st.integers(1, 3)
SHARES = st.sampled_from((0.0, -0.0, 0.1, 0.15, 0.5))


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    """Draw from few values, so that equal candidates are met as well."""
    document = {"mask_rate": draw(st.sampled_from((0.15, 0.2))), "random_token_share": draw(SHARES)}
    detection = ReplacedTokenDetection(generator_ratio=draw(FEW)).model_copy(update=document)
    masked = MaskedLanguageModel().model_copy(update=document)
    objective = detection if draw(st.booleans()) else masked
    schedule = draw(st.sampled_from(options_of(ScheduleOption)))(warmup_tokens=draw(FEW))
    optimiser = draw(st.sampled_from(options_of(OptimiserOption)))()
    recipe = Recipe(dropout=draw(SHARES), weight_decay=draw(SHARES), schedule=schedule, optimiser=optimiser)
    convolution = draw(st.sampled_from((*convolutions(5), *convolutions(9))))
    return Candidate(
        architecture=Architecture(depth=draw(FEW), convolution=convolution), objective=objective, recipe=recipe
    )


def of(declaration: Schema) -> str:
    return fingerprint(canonical(declaration))


@given(candidates(), candidates())
@settings(max_examples=200)
def test_two_candidates_share_a_fingerprint_if_and_only_if_they_are_equal(one: Candidate, other: Candidate) -> None:
    assert (of(one) == of(other)) == (one == other)


@given(st.builds(Candidate, architecture=architectures()) | candidates())
def test_a_fingerprint_survives_json(candidate: Candidate) -> None:
    copies = (
        Candidate.model_validate_json(candidate.model_dump_json()),
        Candidate.model_validate_json(canonical_text(canonical(candidate))),
    )
    for copy in copies:
        assert copy == candidate
        assert of(copy) == of(candidate)


def test_whole_numbers_and_exponents_are_the_numbers_they_mean() -> None:
    written = [Recipe.model_validate_json(f'{{"dropout": {number}}}') for number in ("0", "0.0", "-0.0", "0e0")]
    assert len({of(recipe) for recipe in written}) == 1


def test_the_baseline_is_empty_and_options_keep_their_kind() -> None:
    assert canonical(Candidate()) == {}
    for option in options_of(ConvolutionOption):
        assert canonical(option()) == {"kind": option.model_fields["kind"].default}
    assert canonical(Architecture(convolution=SpanDynamic())) == {"convolution": {"kind": "span_dynamic"}}


@given(architectures())
def test_a_new_axis_at_its_default_keeps_every_fingerprint(drawn: Architecture) -> None:
    grown = create_model("Grown", __base__=Architecture, loops=(Count, 1))
    later = grown.model_validate({name: getattr(drawn, name) for name in Architecture.model_fields})
    assert of(later) == of(drawn)
    assert of(later.model_copy(update={"loops": 2})) != of(drawn)


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans() | st.none(), max_size=5), st.randoms())
def test_the_order_of_keys_plays_no_part(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    shuffle: Callable[[list[Any]], None] = random.shuffle
    shuffle(items)
    assert fingerprint(dict(items)) == fingerprint(value)
    assert json.loads(canonical_text(value)) == value


class Named(Schema):
    name: Name


@pytest.mark.parametrize("name", ["CON", "con", "nul.txt", "Com1", "lpt9.a.b"])
def test_the_name_of_a_device_is_refused_with_another(name: str) -> None:
    with pytest.raises(ValidationError, match="names a device on Windows") as refusal:
        Named(name=name)
    other = str(refusal.value).partition("write ")[2].split()[0]
    assert Named(name=other).name == other


@pytest.mark.parametrize("name", ["console", "com", "com10", "lpt", "a.con", "nul_1"])
def test_a_name_that_only_resembles_a_device_is_taken(name: str) -> None:
    assert Named(name=name).name == name
