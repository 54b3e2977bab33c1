"""A budget-matched copy has the baseline's budget within the tolerance, and differs from its arm in one size."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from search_space.candidate import Candidate
from search_space.overrides import apply, difference
from steeplechase.configuration.arms import ArmTable, Rules
from steeplechase.configuration.designs import ListDesign
from steeplechase.configuration.matched_budget import Match, add_matched_arms, dimension, nearest

TOKENS = 10_000_000
PATHS = {
    "feed_forward_width": "feed_forward_width",
    "width": "width",
    "depth": "depth",
    "tokens": "recipe.token_share",
}


@st.composite
def baselines(draw: st.DrawFn) -> Candidate:
    heads = draw(st.sampled_from((2, 4, 8)))
    groups = draw(st.sampled_from((1, 2)))
    sizes = {
        "depth": draw(st.integers(2, 12)),
        "heads": heads,
        "width": heads * draw(st.sampled_from((16, 32))),
        "feed_forward_groups": groups,
        "feed_forward_width": groups * draw(st.integers(64, 512)),
        "vocabulary_size": draw(st.sampled_from((1000, 4000))),
        "embedding_width": draw(st.sampled_from((64, 128))),
    }
    kind = draw(st.sampled_from(("masked_language_model", "replaced_token_detection")))
    return apply(Candidate(), {**sizes, "objective": kind, "recipe.batch_sequences": 8})


CHANGES: tuple[dict[str, Any], ...] = (
    {"bottleneck_ratio": 2},
    {"bottleneck_ratio": 2, "convolution": "span_dynamic"},
    {"convolution": {"kind": "dynamic", "kernel_size": 15}},
    {"feed_forward_groups": 1, "convolution": "depthwise"},
)


def matched(baseline: Candidate, changes: dict[str, Any], match: Match) -> tuple[ArmTable, list[str]]:
    arm_table = ArmTable(baseline, Rules())
    arm_table.add_design(ListDesign(arms={"x": changes}), ())
    assert arm_table.violations == []
    return arm_table, [violation.message for violation in add_matched_arms(arm_table, match, TOKENS)]


def spent(candidate: Candidate, baseline: Candidate, budget: str) -> int:
    if budget == "parameters":
        return candidate.architecture.parameters
    return candidate.train_flops(TOKENS, baseline.architecture)


@given(
    baselines(),
    st.sampled_from(CHANGES),
    st.sampled_from(("parameters", "train_flops")),
    st.sampled_from(sorted(PATHS)),
    st.sampled_from((0.001, 0.01, 0.05)),
)
def test_a_matched_copy_has_the_baselines_budget_and_differs_in_one_size(
    baseline: Candidate, changes: dict[str, Any], budget: Any, by: Any, tolerance: float
) -> None:
    assume((budget, by) != ("parameters", "tokens"))
    assume(apply(baseline, changes) != baseline)
    arm_table, refused = matched(baseline, changes, Match(budget=budget, by=by, tolerance=tolerance))
    target = spent(baseline, baseline, budget)
    raw, matched_copy = arm_table.arms[1], arm_table.arms[-1]
    if refused:
        (line,) = refused
        assert "is nearest" in line or "the copy would equal the baseline" in line
        return
    assert abs(spent(matched_copy.candidate, baseline, budget) / target - 1) <= tolerance
    assert list(matched_copy.candidate.violations()) == []
    if raw is matched_copy:
        assert matched_copy.matches == "x"
    else:
        assert (matched_copy.name, matched_copy.matches, raw.matches) == ("x (matched)", "x", None)
        assert list(difference(raw.candidate, matched_copy.candidate)) == [PATHS[by]]


@settings(max_examples=15)
@given(baselines(), st.sampled_from(CHANGES), st.sampled_from(("feed_forward_width", "width", "depth", "tokens")))
def test_no_other_size_is_nearer_to_the_baselines_budget(
    baseline: Candidate, changes: dict[str, Any], by: str
) -> None:
    candidate = apply(baseline, changes)
    free = dimension(by, candidate, TOKENS)
    target = spent(baseline, baseline, "train_flops")

    def off(steps: int) -> int:
        return abs(spent(free.resized(steps), baseline, "train_flops") - target)

    best = nearest(lambda steps: spent(free.resized(steps), baseline, "train_flops"), target, free.discontinuities)
    assert off(best) == min(off(steps) for steps in range(max(1, best - 60), best + 60))


def test_a_size_that_every_layer_sets_for_itself_cannot_be_adjusted() -> None:
    baseline = apply(Candidate(), {"depth": 2, "width": 64, "feed_forward_width": 256, "vocabulary_size": 64})
    by_layer = {"feed_forward_width": [32, 256]}
    _, (line,) = matched(baseline, by_layer, Match(budget="parameters", by="feed_forward_width"))
    assert line.startswith("x (matched): layers sets the width of every feed-forward network.")
    layers = {"layers": "s f(width=192) s f"}
    assert matched(baseline, layers, Match(budget="parameters", by="feed_forward_width"))[1] == []


def test_a_matched_width_is_a_multiple_of_the_heads_of_every_layer() -> None:
    baseline = apply(Candidate(), {"depth": 2, "width": 64, "feed_forward_width": 256, "vocabulary_size": 64})
    smaller = {"heads": [1, 16], "feed_forward_width": 32}
    arms, mistakes = matched(baseline, smaller, Match(budget="parameters", by="width", tolerance=0.2))
    assert mistakes == []
    assert all(arm.candidate.architecture.width % 16 == 0 for arm in arms.arms)


def test_an_arm_that_changes_only_the_adjusted_size_has_no_matched_copy() -> None:
    match = Match(budget="parameters", by="feed_forward_width")
    _, lines = matched(Candidate(), {"feed_forward_width": 512}, match)
    assert lines == [
        "x (matched): the copy would equal the baseline: feed_forward_width is the only field that x changes"
    ]


def test_a_matched_copy_that_breaks_a_constraint_is_an_error_or_left_out() -> None:
    match = Match(budget="parameters", by="feed_forward_width")
    for skip in (False, True):
        arm_table = ArmTable(Candidate(), Rules(("feed_forward_width <= 1024",), skip))
        arm_table.add_design(ListDesign(arms={"x": {"bottleneck_ratio": 2}}), ())
        messages = [violation.message for violation in add_matched_arms(arm_table, match, TOKENS)]
        left_out = [f"{one.name}: {one.reasons[0]}" for one in arm_table.impossible]
        reason = "x (matched): breaks 'feed_forward_width <= 1024': feed_forward_width is 1280"
        assert (messages, left_out) == (([], [reason]) if skip else ([reason], []))
        assert [arm.name for arm in arm_table.arms] == ["baseline", "x"]


def test_two_arms_may_share_one_matched_copy() -> None:
    arm_table = ArmTable(Candidate(), Rules())
    narrow = {"bottleneck_ratio": 2, "feed_forward_width": 512}
    arm_table.add_design(ListDesign(arms={"x": {"bottleneck_ratio": 2}, "y": narrow}), ())
    assert not list(add_matched_arms(arm_table, Match(budget="parameters", by="feed_forward_width"), TOKENS))
    assert [arm.name for arm in arm_table.arms] == ["baseline", "x", "x (matched)", "y"]  # computed once
    arms = {arm.name: arm for arm in arm_table.arms}
    assert arms["x"].matched_arm == arms["y"].matched_arm == "x (matched)"
    spends = arms["x (matched)"].candidate.architecture.parameters / Candidate().architecture.parameters
    assert arms["x"].matched_spend == arms["y"].matched_spend == pytest.approx(spends)
    assert abs(spends - 1) <= 0.01
    assert arm_table.aliases == {"y (matched)": "x (matched)"}


def test_an_arm_may_be_the_matched_copy_of_two_others() -> None:
    match = Match(budget="parameters", by="feed_forward_width")
    alone, _ = matched(Candidate(), {"bottleneck_ratio": 2}, match)
    width = alone.arms[-1].candidate.architecture.feed_forward_width
    arm_table = ArmTable(Candidate(), Rules())
    widths = {"x": {}, "y": {"feed_forward_width": 512}, "z": {"feed_forward_width": width}}
    arm_table.add_design(
        ListDesign(arms={name: {"bottleneck_ratio": 2, **more} for name, more in widths.items()}), ()
    )
    assert not list(add_matched_arms(arm_table, match, TOKENS))
    assert {arm.name: arm.matched_arm for arm in arm_table.arms[1:]} == {"x": "z", "y": "z", "z": "z"}


def test_a_copy_matched_by_tokens_trains_for_whole_updates() -> None:
    arm_table, _ = matched(Candidate(), {"bottleneck_ratio": 2}, Match(budget="train_flops", by="tokens"))
    recipe = arm_table.arms[-1].candidate.recipe
    assert recipe.token_share > 1
    assert recipe.own_tokens(TOKENS) % recipe.tokens_per_step == 0
    assert recipe.steps(TOKENS) == recipe.own_tokens(TOKENS) // recipe.tokens_per_step
