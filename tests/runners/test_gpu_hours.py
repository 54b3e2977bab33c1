"""GPU hours before anything has run: the longer of arithmetic and launches, summed over an experiment."""

from dataclasses import replace

import pytest

from runners.cost_estimate import gpu_hours
from runners.cost_estimate.gpu_hours import GpuHours, memory_by_arm, trial_work, usual_cards
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
