"""Costs before anything has run: GPU hours summed over an experiment, and predictions from past runs."""

from dataclasses import replace
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.cost_estimate import gpu_hours
from runners.cost_estimate.gpu_hours import GpuHours, memory_by_arm, trial_work, usual_cards
from runners.cost_estimate.past_runs import Measured
from runners.cost_estimate.prediction import Range, _cost
from runners.plan import ArmPlan, Plan
from search_space.cards import CARDS
from steeplechase.commands.planning.costs import gpu_document, gpu_lines
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from tests.factories.command_calls import TABLE

H100 = next(each for each in CARDS if each.name == "H100")
EMPTY = Plan((), (3, 1), 0, None, "", None, None, {}, ())


@pytest.fixture(scope="module")
def paper() -> Experiment:
    return load_experiment(TABLE, "paper")


def plan(experiment: Experiment) -> Plan:
    arms = (ArmPlan(arm, 0, 0, 10**18, 0, None) for arm in experiment.arms)
    return replace(EMPTY, arms=tuple(arms))


def test_an_update_takes_the_longer_of_its_flops_and_its_kernels(paper: Experiment) -> None:
    candidate = paper.baseline
    flops = candidate.train_flops(paper.pretraining.tokens, candidate.architecture)
    slow = H100._replace(bfloat16=1e9)
    arithmetic = flops / (gpu_hours.UTILISATION * 1e9) / 3600
    work = trial_work(paper, candidate)
    assert work.hours(slow).pretraining == pytest.approx(arithmetic)
    endless = H100._replace(bfloat16=1e30)
    launches = 2 * gpu_hours.LAUNCHES_A_BATCH + gpu_hours.LAUNCHES_A_BLOCK * 2 * candidate.architecture.depth
    seconds = candidate.recipe.steps(paper.pretraining.tokens) * launches * gpu_hours.SECONDS_A_LAUNCH
    assert work.hours(endless).pretraining == pytest.approx(seconds / 3600)
    assert work.hours(endless).fine_tuning > 0


def test_the_hours_of_an_experiment_are_those_of_its_trials(paper: Experiment) -> None:
    found = gpu_document(paper, plan(paper))["gpu"]
    assert isinstance(found, dict)
    hours = found["estimated"]
    assert isinstance(hours, dict)
    assert {*hours} == {each.name for each in usual_cards()} == {*gpu_hours.USUAL}
    trials = [trial_work(paper, arm.candidate).hours(H100).times(3) for arm in paper.arms]
    whole = sum(trials, GpuHours(0.0, 0.0))
    expected = {"pretraining_hours": whole.pretraining, "fine_tuning_hours": whole.fine_tuning}
    longest = max(trials, key=lambda each: each.total).total / 3
    assert hours["H100"] == pytest.approx({**expected, "longest_trial_hours": longest})
    assert found["least_memory_bytes"] == memory_by_arm(paper)


def test_an_experiment_for_a_laptop_has_no_gpu_hours(paper: Experiment) -> None:
    demo = load_experiment(TABLE, "demo")
    small = replace(EMPTY, arms=(ArmPlan(demo.arms[0], 0, 0, 10**12, 0, None),))
    assert ([*gpu_lines(demo, small)], gpu_document(demo, small)) == ([], {})
    lines = [*gpu_lines(paper, plan(paper))]
    assert lines[0].startswith("H100, estimated: ")
    assert lines[-1].startswith("memory of a GPU: at least ")


SIZES = st.floats(1e9, 1e18)


def measured(operations: float, seconds: float) -> Measured:
    return Measured("pretrain", "cpu", operations, seconds, 1000, None)


def predicted_seconds(measured_sizes: list[float], size: float, start: float, pace: float) -> Range:
    return _cost([measured(each, start + each / pace) for each in measured_sizes], size, 1000)[0]


@given(st.lists(SIZES, min_size=1, max_size=40), SIZES, st.floats(0, 100), st.floats(1e8, 1e15))
def test_the_bounds_contain_the_truth_of_a_stage_with_a_start_up(
    sizes: list[float], size: float, start: float, pace: float
) -> None:
    found, truth = predicted_seconds(sizes, size, start, pace), start + size / pace
    if found.low is None or found.high is None:
        assert any(isclose(size, each, rel_tol=1e-6) for each in sizes)
        assert abs(found.middle - truth) <= 1e-6 * truth
    else:
        assert found.low * (1 - 1e-6) <= truth <= found.high * (1 + 1e-6)
        assert found.low <= found.middle <= found.high


def test_short_stages_give_wide_bounds_and_two_sizes_the_start_up() -> None:
    """1 s of start-up and 0.2 s of training, then a stage of 300 times the FLOPs: 61 s, and not 360 s."""
    short = predicted_seconds([2e9] * 6, 6e11, 1.0, 1e10)
    assert (short.is_wide, short.low, short.high) == (True, 1.2, 360.0)
    both = predicted_seconds([2e9] * 6 + [2e11] * 6, 6e11, 1.0, 1e10)
    assert abs(both.middle - 61.0) < 1e-6
    assert not both.is_wide
