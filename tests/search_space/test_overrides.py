"""Overrides are applied to make an arm and derived from two candidates; the two are inverse."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import Depthwise, SpanDynamic
from search_space.convolution.option import ConvolutionOption
from search_space.objective import MaskedLanguageModel, ReplacedTokenDetection
from search_space.optimiser import Sgd
from search_space.optimiser.option import OptimiserOption
from search_space.overrides import InvalidOverride, apply, difference, with_lists
from search_space.recipe import Recipe
from search_space.schedule import LinearSchedule
from search_space.schedule.option import ScheduleOption
from steeplechase.foundation.schema import JsonValue, Schema, options_of
from tests.factories.small_experiments import architectures

OBJECTIVES = st.one_of(
    st.builds(MaskedLanguageModel, mask_rate=st.sampled_from((0.15, 0.4))),
    st.builds(
        ReplacedTokenDetection, generator=st.sampled_from(("baseline", "own")), generator_ratio=st.integers(1, 4)
    ),
)
SCHEDULES = st.builds(LinearSchedule, warmup_tokens=st.integers(0, 9)) | st.sampled_from(
    [kind() for kind in options_of(ScheduleOption)]
)
OPTIMISER = st.sampled_from([option() for option in options_of(OptimiserOption)]) | st.builds(
    Sgd, momentum=st.sampled_from((0.0, 0.5))
)
CANDIDATES = st.builds(
    Candidate,
    architecture=architectures(),
    objective=OBJECTIVES,
    recipe=st.builds(
        Recipe,
        sequence_length=st.integers(8, 16),
        schedule=SCHEDULES,
        optimiser=OPTIMISER,
        dropout=st.sampled_from((0.0, 0.1)),
    ),
)


@given(CANDIDATES, CANDIDATES)
@settings(max_examples=60)
def test_applying_the_difference_gives_the_other_candidate(baseline: Candidate, candidate: Candidate) -> None:
    assert apply(baseline, difference(baseline, candidate)) == candidate
    assert difference(candidate, candidate) == {}


@given(CANDIDATES, st.data())
@settings(max_examples=40)
def test_the_difference_is_the_applied_overrides(baseline: Candidate, data: st.DataObject) -> None:
    changes = {"depth": data.draw(st.integers(1, 9)), "recipe.batch_sequences": data.draw(st.integers(1, 9))}
    found = difference(baseline, apply(baseline, changes))
    assert found == {path: value for path, value in changes.items() if path in found}
    assert ("depth" in found) == (changes["depth"] != baseline.architecture.depth)


def test_values_by_layer_are_shown_as_lists_where_these_are_the_whole_change() -> None:
    plain = Candidate(architecture=Architecture(depth=2))
    set_apart = Candidate(architecture=Architecture(layers="s f(width=8)"))
    with_kernel = Candidate(architecture=Architecture(depth=2, convolution=SpanDynamic()))
    groups: dict[str, JsonValue] = {"feed_forward_groups": [1, 4]}
    sized: dict[str, JsonValue] = {"heads": [2, 4], "feed_forward_width": [64, 32], "recipe.dropout": 0.3}
    shown: list[tuple[Candidate, dict[str, JsonValue], dict[str, JsonValue]]] = [
        (plain, sized, sized),
        (plain, {"depth": 1, "heads": [2]}, {"depth": 1, "layers": "s(heads=2) f"}),
        (plain, {"layers": "s(heads=2) f s f"}, {"layers": "s(heads=2) f s f"}),
        (set_apart, {"layers": "s f(width=4)"}, {"layers": "s f(width=4)"}),
        (set_apart, {"heads": [8]}, {"heads": [8]}),
        (plain, {"convolution": ["none", "dynamic"]}, {"convolution": ["none", "dynamic"]}),
        (with_kernel, {"convolution.kernel_size": [3, 7]}, {"convolution.kernel_size": [3, 7]}),
        (plain, {"bottleneck_ratio": [1, "8/4"], **groups}, {"bottleneck_ratio": [1, 2], **groups}),
        (
            plain,
            {"convolution": [{"kind": "dynamic", "kernel_size": 3}, "none"]},
            {"layers": "s(convolution=dynamic,kernel_size=3) f s(convolution=none) f"},
        ),
    ]
    for baseline, changes, expected in shown:
        candidate = apply(baseline, changes)
        found = with_lists(baseline, candidate, difference(baseline, candidate))
        assert {**found} == expected
        assert apply(baseline, found) == candidate


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"convolution": ["dynamic"]}, "1 value for 2 sublayers s; a list has one value for each"),
        (
            {"convolution": ["dynamic", 3]},
            "3 is not an option; write the name of an option, or a mapping with a kind",
        ),
        ({"convolution": ["none", "slow"]}, "convolution=slow is unknown; allowed: depthwise, dynamic, "),
        ({"convolution": ["none", "a b"]}, "',' is needed, not 'b'"),
        ({"convolution.kernel_size": [3, 4]}, '4 is even; "same" padding needs an odd kernel'),
        ({"convolution.kernel_size": [3, 0.5]}, "0.5 is no whole number from 1"),
        ({"bottleneck_ratio": [1, 0]}, '0 is no ratio from 1; write a number such as 2 or 1.5, or a fraction: "4/3"'),
        ({"bottleneck_ratio": [1, 3]}, "bottleneck_ratio 3 does not divide heads 4; γ keeps whole heads"),
        ({"feed_forward_groups": [1, 3]}, "groups 3 does not divide width"),
    ],
)
def test_a_wrong_list_is_refused_at_its_field(changes: dict[str, JsonValue], message: str) -> None:
    with_kernel = Candidate(architecture=Architecture(depth=2, convolution=SpanDynamic()))
    with pytest.raises(InvalidOverride) as refused:
        apply(with_kernel, changes)
    assert message in str(refused.value)
    assert {violation.path for violation in refused.value.violations} == {(path,) for path in changes}


def test_an_option_is_replaced_before_its_own_fields_are_set() -> None:
    changes = {"convolution.kernel_size": 7, "convolution": {"kind": "span_dynamic"}}
    assert apply(Candidate(), changes).architecture.convolution == SpanDynamic(kernel_size=7)
    depthwise = Candidate(architecture=Architecture(convolution=Depthwise(kernel_size=5)))
    assert apply(depthwise, {"convolution": {"kind": "span_dynamic"}}).architecture.convolution == SpanDynamic()


def test_an_arms_program_brings_its_own_depth_and_an_arms_depth_needs_a_baseline_without_another() -> None:
    programmed = apply(Candidate(), {"layers": "s f s"})
    assert (programmed.architecture.depth, programmed.architecture.layers) == (2, "s f s")
    assert apply(programmed, {"layers": None}).architecture.depth == 2
    with pytest.raises(InvalidOverride, match="3 contradicts layers, whose number of blocks is 2"):
        apply(programmed, {"depth": 3})


@pytest.mark.parametrize("option", options_of(ConvolutionOption))
def test_an_options_name_alone_is_the_option_with_its_defaults(option: type[Schema]) -> None:
    baseline = Candidate(architecture=Architecture(convolution=Depthwise(kernel_size=5)))
    kind = option.model_fields["kind"].default
    assert apply(baseline, {"convolution": kind}).architecture.convolution == option()
    assert apply(baseline, {"convolution": kind}) == apply(baseline, {"convolution": {"kind": kind}})


@pytest.mark.parametrize(
    ("changes", "blamed", "message"),
    [
        ({"widht": 8}, "widht", "widht is not a field of architecture. Did you mean width?"),
        ({"depth": 0}, "depth", "0 is not allowed; it must be greater than or equal to 1"),
        (
            {"depth": 3, "layers": "s f"},
            "depth",
            "3 contradicts layers, whose number of blocks is 1; leave depth out",
        ),
        ({"depth.of": 3}, "depth.of", "it must be a valid integer"),
        ({"recipe.dropout.rate": 0.1}, "recipe.dropout.rate", "it must be a valid number"),
        ({"depth": 2, "bottleneck_ratio": 3}, "bottleneck_ratio", "3 does not divide heads 4"),
        ({"convolution.kernel_size": 7}, "convolution.kernel_size", "not a field of the convolution none"),
        (
            {"convolution": {"kind": "depthwise", "kernel_size": 8}},
            "convolution",
            "Did you mean 7 or 9, or window: look_back?",
        ),
        ({"recipe.sequence_length": 4}, "recipe.sequence_length", "4 is too short"),
        ({"convolution": "span_dynamik"}, "convolution", "Did you mean span_dynamic?"),
        ({"normalisation": "rms_norm"}, "normalisation", "pre_norm. Write normalisation.norm: rms_norm"),
        ({"convolution": {"kernel_size": 9}}, "convolution", "is not an option"),
        (
            {"recipe.batch_warm_up": {"initial_sequences": 8}},
            "recipe.batch_warm_up",
            "is missing, which has no default",
        ),
        (
            {"baseline.heads": 2},
            "baseline.heads",
            "baseline is a section of the file, and no field of a candidate; leave",
        ),
        ({"pretraining.seeds": 2}, "pretraining.seeds", "pretraining is a section of the file"),
        ({"convolution": 3}, "convolution", "3 is not an option"),
        ({"recipe.optimiser": "lam"}, "recipe.optimiser", "Did you mean lamb?"),
        ({"recipe.optimiser": "sgd", "recipe.adam_beta2": 0.98}, "recipe.adam_beta2", "sgd has no moments"),
        (
            {"recipe.optimiser.momentum": 0.5},
            "recipe.optimiser.momentum",
            "momentum is not a field of the optimiser adamw",
        ),
        ({"recipe.schedule.warm_tokens": 5}, "recipe.schedule.warm_tokens", "linear. Did you mean warmup_tokens?"),
        ({"recipe.schedule.warmup_tokens": -1}, "recipe.schedule.warmup_tokens", "greater than or equal to 0"),
        ({"recipe.micro_batches": 129}, "recipe.micro_batches", "129 micro-batches of 128 sequences"),
        ({"objective.mask_rate": 1.5}, "objective.mask_rate", "less than 1"),
        (
            {"objective.mask_rat": 0.2},
            "objective.mask_rat",
            "mask_rat is not a field of the objective replaced_token_detection. Did you mean mask_rate?",
        ),
        (
            {"objective": "masked_language_model", "objective.discriminator_weight": 50},
            "objective.discriminator_weight",
            "not a field of the objective masked_language_model; it belongs to all_tokens_masked_language_model, ",
        ),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_an_invalid_override_is_reported_with_its_path_and_reason(
    changes: dict[str, object], blamed: str, message: str
) -> None:
    with pytest.raises(InvalidOverride) as refusal:
        apply(Candidate(), changes)
    (violation,) = refusal.value.violations
    assert violation.path == (blamed,)
    assert message in violation.message


def test_an_option_precedes_its_fields_however_their_paths_are_written() -> None:
    changes = {"convolution.kernel_size": 5, "architecture.convolution": "depthwise"}
    assert apply(Candidate(), changes) == apply(Candidate(), {"convolution": Depthwise(kernel_size=5).model_dump()})
