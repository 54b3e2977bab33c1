"""The recommended policy: proposals by a random tree, learned trust in slopes, the control, shares of cost."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from runners.policies.backtested_slopes import FEWER_LOOKS, SHARES, BacktestedSlopes
from runners.policies.path_tree import propose
from runners.policies.policy import Action, Numbers
from runners.policies.promotions import Promotions
from runners.policies.race import Race
from runners.policies.slopes import POWERS, Belief, Slopes
from runners.replay.replay import CurveTask
from tests.factories.synthetic_curves import synthetic

COSTS = np.arange(1, 9) / 8


@dataclass
class Seen:
    """A view of hand-made curves [candidates, points], all observed up to `reached`."""

    observed: Numbers
    reached: np.ndarray
    features: Numbers = field(default_factory=lambda: np.zeros((0, 0)))
    costs: Numbers = field(default_factory=lambda: COSTS)

    @property
    def in_training(self) -> np.ndarray:
        return np.zeros(len(self.observed), dtype=np.bool_)


def backtested(curve: Numbers) -> Belief:
    """Return the belief after one curve has been observed point by point."""
    view = Seen(curve[None, :], np.array([1]))
    slopes = Slopes(view)
    for points in range(2, len(curve) + 1):
        view.reached = np.array([points])
        slopes.observe(0)
    return slopes.learned


def test_slopes_that_came_true_are_trusted_and_falls_to_a_floor_are_not() -> None:
    assert backtested(1.0 - 0.3 * np.log(COSTS)) == pytest.approx((1.0, 0.0))
    floor = np.array([1.4, 0.9, 0.7, 0.69, 0.69, 0.69, 0.69, 0.69])
    trust, power = backtested(floor)
    assert trust < 0.5 or power == POWERS[-1]
    assert backtested(np.linspace(0.5, 1.5, 8)) == (1.0, 0.0)  # no fall was ever forecast
    assert backtested(np.array([1.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1])).trust == 0.0


@pytest.mark.parametrize("power", POWERS[1:])
def test_the_power_of_falls_is_learned_so_that_the_further_trained_of_parallel_curves_wins(power: float) -> None:
    costs = np.arange(1, 201) / 200
    curve = (costs / costs[20]) ** -power
    view = Seen(np.stack([curve, curve + 0.1, curve]), np.array([1, 31, 31]), costs=costs)
    slopes = Slopes(view)
    for points in (25, 40, 60, 100):
        view.reached[0] = points
        slopes.observe(0)
    for candidate in (1, 2):
        slopes.observe(candidate)
    assert slopes.learned.power == power
    bent = slopes.forecasts(np.arange(3), slopes.learned)
    assert bent.argmin() != 1
    straight = slopes.forecasts(np.arange(3), Belief(1.0))
    assert straight[1] < straight[0]  # as if the worse of two parallel curves would win, since it was trained less


def test_the_promised_fall_is_that_of_the_power_law() -> None:
    costs = np.linspace(0.01, 1.0, 100)
    for power in POWERS[1:]:
        curve = 2.0 + costs**-power
        view = Seen(curve[None, :], np.array([50]), costs=costs)
        slopes = Slopes(view)
        slopes.observe(0)
        log = np.log(costs[24:50])
        slope = np.polyfit(log, curve[24:50], 1)[0]
        expected = curve[49] + slope * (1 - costs[49] ** power) / power
        assert slopes.forecasts(np.array([0]), Belief(1.0, power))[0] == pytest.approx(expected)


def test_a_forecast_adds_the_trusted_slope_over_what_is_left() -> None:
    view = Seen(1.0 - 0.3 * np.log(COSTS)[None, :], np.array([4]))
    slopes = Slopes(view)
    slopes.observe(0)
    expected = {trust: 1.0 - 0.3 * (np.log(0.5) + trust * np.log(2)) for trust in (0.0, 0.5, 1.0)}
    for trust, value in expected.items():
        assert slopes.forecasts(np.array([0]), Belief(trust))[0] == pytest.approx(value)


def test_finished_and_diverged_candidates_are_not_open() -> None:
    observed = np.array([[3.0] * 8, [2.0, np.inf] + [np.nan] * 6, [1.0] * 8])
    slopes = Slopes(Seen(observed, np.array([8, 2, 5])))
    for candidate in range(3):
        slopes.observe(candidate)
    assert slopes.open.tolist() == [2]
    assert slopes.best.tolist() == [3.0, 2.0, 1.0]


def test_proposals_are_near_the_best_observations() -> None:
    generator = np.random.default_rng(1)
    features = generator.random((2000, 3))
    quality = np.abs(features[:, 0] - 0.2) + np.where(features[:, 1] > 0.6, 5.0, 0.0)  # the third axis means nothing
    seen, free = np.arange(200), np.arange(200, 2000)
    proposed = [propose(features, seen, quality[seen], free, generator) for _ in range(200)]
    assert set(proposed) <= set(free.tolist())
    assert np.median(quality[proposed]) < np.quantile(quality[free], 0.15)
    assert len(set(proposed)) > 50  # each tree is another one


@pytest.mark.parametrize("values", [np.ones(6), np.array([np.inf] * 6)])
def test_equal_observations_allow_any_proposal(values: Numbers) -> None:
    features = np.random.default_rng(2).random((40, 2))
    features[:6] = 0.5
    found = {propose(features, np.arange(6), values, np.arange(6, 40), np.random.default_rng(n)) for n in range(200)}
    assert len(found) > 25


def test_the_first_candidate_trains_to_its_end_whatever_its_rank() -> None:
    """By 5 trainings, the control has had its share of 20%: one training."""
    values = np.linspace(1.0, 0.5, 40)[:, None] - np.arange(1, 9) * 0.01
    race = Race(
        BacktestedSlopes, np.zeros((40, 0)), COSTS, 1.0 / SHARES["promotions"] + 0.5, np.random.default_rng(0)
    )
    while actions := [*race.actions(1)]:
        candidate, points = actions[0].candidate, actions[0].points
        race.arrive(candidate, values[candidate, race.reached[candidate] : points].tolist())
    assert race.reached[0] == len(COSTS)


def test_promotions_rank_what_other_arms_have_trained_and_skip_what_is_past_the_next_rung() -> None:
    values = np.array([[3.0] * 8, [2.0] * 8, [1.0] * 8, [4.0, np.inf] + [np.nan] * 6])
    view = Seen(values, np.array([3, 8, 2, 2]))
    promotions = Promotions(view, [2, 6], 3)
    for candidate in (0, 1, 3):
        promotions.observe(candidate)
    assert promotions.next_action() is None  # the best of three at the first rung, candidate 1, has ended
    promotions.observe(2)
    assert promotions.next_action() == Action(2, 6)
    view.reached[2] = 6
    promotions.observe(2)
    assert promotions.next_action() is None  # two at the second rung: no third of them


def cost_of_looks(race: Race, values: Numbers) -> float:
    """Run a race on curves [candidates, points] to its end, and return the cost of first looks."""
    looks = 0.0
    while actions := [*race.actions(1)]:
        candidate, points = actions[0].candidate, actions[0].points
        done = int(race.reached[candidate])
        looks += 0.0 if done else float(race.costs[points - 1])
        new = values[candidate, done:points].tolist()
        race.arrive(candidate, new[: new.index(np.inf) + 1] if np.inf in new else new)
    return looks


FEWER = FEWER_LOOKS / (1.0 - SHARES["looks"] + FEWER_LOOKS)


@pytest.mark.parametrize(("end", "share"), [(0.3, FEWER), (2.0, SHARES["looks"]), (np.inf, SHARES["looks"])])
def test_looks_cost_less_while_none_promises_what_the_control_has_reached(end: float, share: float) -> None:
    """All curves are flat at 1 for half of a training, and then fall; the first candidate is the control."""
    costs, ends = np.arange(1, 25) / 24, np.random.default_rng(3).random(200)
    values = np.where(costs <= 0.5, 1.0, ends[:, None])
    values[0, 12:] = end
    race = Race(BacktestedSlopes, np.zeros((200, 0)), costs, 20.0, np.random.default_rng(0))
    assert cost_of_looks(race, values) == pytest.approx(share * 20.0, rel=0.15)


def test_each_arm_has_its_share_of_the_cost() -> None:
    task = CurveTask.of(synthetic("power_laws", 1, candidates=200, points=24))
    policies: list[BacktestedSlopes] = []

    def policy(view: Race, generator: np.random.Generator) -> BacktestedSlopes:
        policies.append(BacktestedSlopes(view, generator))
        return policies[0]

    race = Race(policy, task.features, task.curves.costs, 8.0, np.random.default_rng(0))
    assert cost_of_looks(race, task.curves.values) == pytest.approx(SHARES["looks"] * 8.0, rel=0.1)
    assert sum(SHARES.values()) == pytest.approx(1.0)
