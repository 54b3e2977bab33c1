"""Hurdles decide by the published rule, never on a value that is not finite, in any order of arrival."""

import json
import math
import random
from collections.abc import Mapping, Sequence
from statistics import correlation

import pytest

from steeplechase.configuration.hurdles.cohorts import Asha, Hyperband, TopFraction
from steeplechase.configuration.hurdles.population import HurdleDecision, Population, State, Threshold, TrialView
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.configuration.hurdles.rank_checked import FEWEST_COMPARED, RankChecked, rank_correlation
from steeplechase.configuration.hurdles.rungs import Finite, Hurdle, Rungs
from steeplechase.foundation.schema import options_of
from tests.factories.populations import Runner, fix, population_of, race, random_table, runners

NOT_NUMBERS = (None, math.nan, math.inf, -math.inf)
RULES: tuple[Hurdle, ...] = tuple(
    kind.model_validate_json(json.dumps(example)) for kind in options_of(Hurdle) for example in kind.examples
)
"""Every hurdle of the folder at each of its examples, whose rungs are 1 and 2."""
MARKED = tuple(rule for rule in RULES if isinstance(rule, Rungs))
COHORTS: tuple[Hurdle, ...] = (
    TopFraction(rungs=(1, 2)),
    TopFraction(rungs=(1, 2), keep=0.3),
    Hyperband(rungs=(1, 2)),
)


def named(rule: Hurdle) -> str:
    return rule.kind


@pytest.mark.parametrize("rule", RULES, ids=named)
@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_a_value_that_is_not_finite_never_clears_a_hurdle(rule: Hurdle, level: int, value: float | None) -> None:
    for cohort in range(3):  # Hyperband lets later brackets past a hurdle
        other = TrialView("a", 0, State.DONE, (5.0, 4.0), 2)
        trial = TrialView("b", cohort, State.WAITING, (*(4.0,) * level, value), level)
        fixed, alone = Population((other, trial)), Population((trial,))
        for reached, threshold in enumerate((5.0, 3.0)):
            fixed.fix(0, reached, Threshold(threshold, 1))
        for field in (fixed, alone):
            assert not rule.decide(field)["b"].cleared


@pytest.mark.parametrize("value", [0.0, -1.5, 5.0, 1e300])
def test_finite_stops_nothing_that_is_finite(value: float) -> None:
    trial = TrialView("b", 0, State.WAITING, (value,))
    assert Finite().decide(Population((trial,)))["b"].cleared
    assert Finite().rungs_of(9) == ()


def decision_on(
    rule: ProgressiveMean, value: float, population: Mapping[str, tuple[float | None, ...]], level: int
) -> HurdleDecision:
    """Return the verdict on a member of the second cohort, the population being the first."""
    first = [TrialView(name, 0, State.DONE, values) for name, values in population.items()]
    trial = TrialView("one", 1, State.WAITING, (*(1.0,) * level, value), level)
    return rule.decide(Population((*first, trial)))["one"]


@pytest.mark.parametrize("absent", NOT_NUMBERS)
def test_trials_without_a_value_are_not_part_of_the_threshold(absent: float | None) -> None:
    rule = ProgressiveMean(rungs=(1, 2))
    decision = decision_on(rule, 5.5, {"a": (5.0,), "b": (absent,), "c": (6.0, absent), "d": ()}, 0)
    assert (decision.cleared, decision.threshold, decision.references) == (False, 5.5, 2)
    assert decision_on(rule, 5.4, {"a": (5.0,), "b": (absent,), "c": (6.0, absent)}, 0).cleared
    undecided = decision_on(rule, 1.0, {"a": (5.0,), "c": (6.0, absent)}, 1)
    assert (undecided.cleared, undecided.threshold, undecided.references) == (False, None, 0)


@pytest.mark.parametrize("rule", MARKED, ids=named)
def test_decisions_are_independent_of_the_order_of_arrival_and_no_trial_waits_for_ever(rule: Hurdle) -> None:
    chance = random.Random(20261121)
    for _ in range(10):
        table, failing = random_table(chance), chance.random()
        seen = set()
        for order in range(500 // 25):
            field = runners(table)
            for place, runner in enumerate(trial for cohort in field for trial in cohort):
                runner.fails = random.Random(f"{failing} {place}").random() < 0.5
            seen.add(repr(race(rule, field, random.Random(order))))
        assert len(seen) == 1


@pytest.mark.parametrize("rule", COHORTS, ids=named)
def test_no_stopped_trial_is_better_than_a_continuing_one(rule: Hurdle) -> None:
    chance = random.Random(7)
    for _ in range(80):
        field = runners(random_table(chance))
        decisions_by_trial = race(rule, field, chance)
        for cohort in field:
            for level in range(2):
                here = [
                    decisions_by_trial[trial.name][level]
                    for trial in cohort
                    if len(decisions_by_trial[trial.name]) > level
                ]
                inside = [trial.value for trial in here if trial.cleared and trial.value is not None]
                outside = [trial.value for trial in here if not trial.cleared and trial.value is not None]
                assert max(inside, default=-math.inf) <= min(outside, default=math.inf)
                assert inside or not outside


def test_half_of_a_cohort_continues_and_a_late_trial_meets_the_same_threshold() -> None:
    rule = TopFraction(rungs=(1, 2))
    field = runners([[(5.0, 1.0), (4.0, 2.0), (6.0, 0.0), (None, 0.0), (7.0, 0.0), (3.0, 3.0)]])
    decisions_by_trial = race(rule, field, random.Random(1))
    assert [[decision.cleared for decision in decisions_by_trial[trial.name]] for trial in field[0]] == [
        [False],
        [True, True],
        [False],
        [],
        [False],
        [True, False],
    ]
    late = Runner("late", 0, (3.9, 1.9))
    (bars,) = {
        (decision.threshold, decision.references)
        for decision in race(rule, [[*field[0], late]], random.Random(2))["late"][:1]
    }
    assert bars == (4.0, 5)
    assert [decision.cleared for decision in late.decisions] == [True, True]
    assert late.decisions[1].threshold == 2.0


def test_hyperbands_brackets_cycle_and_have_about_equal_cost() -> None:
    rule = Hyperband(rungs=(1, 3), reduction_factor=3.0)
    assert [rule.bracket(number) for number in range(6)] == [0, 1, 2, 0, 1, 2]
    assert [rule.cohort_size(number, 9) for number in range(3)] == [9, 5, 3]  # Li et al. 2018, table 1 with s_max = 2
    values = [(float(place), float(place)) for place in range(9)]
    decisions_by_trial = race(rule, runners([values, values[:5], values[:3]]), random.Random(3))
    through = [
        sum(
            len(decisions) == 2 and decisions[1].cleared
            for name, decisions in decisions_by_trial.items()
            if name[0] == str(cohort)
        )
        for cohort in range(3)
    ]
    assert through == [1, 1, 3]


@pytest.mark.parametrize("rule", COHORTS, ids=named)
def test_a_cohort_of_one_continues_without_a_threshold(rule: Hurdle) -> None:
    others = [(5.0, 4.0), (6.0, 3.0), (4.0, 5.0)]
    decisions = race(rule, runners([others, [(9.0, 8.0)]]), random.Random(5))["1-00"]
    assert decisions == [HurdleDecision(True, 9.0, None), HurdleDecision(True, 8.0, None)]


def test_asha_compares_with_earlier_trials_and_continues_the_first() -> None:
    field = runners([[(5.0, 5.0), (6.0, 0.0), (4.0, 4.0), (4.5, 0.0), (3.0, 3.0), (3.5, 3.5)]])
    decisions_by_trial = race(Asha(rungs=(1, 2), reduction_factor=3.0), field, random.Random(4))
    assert [[decision.cleared for decision in decisions_by_trial[trial.name]] for trial in field[0]] == [
        [True, True],
        [False],
        [True, True],
        [False],
        [True, True],
        [True, False],  # 3.5 is second of six at the first mark, and second of four at the next
    ]


FINISHED_RULES: tuple[Hurdle, ...] = (
    Finite(),
    ProgressiveMean(rungs=(1, 2)),
    ProgressiveMean(rungs=(1, 2, 3), population="all_so_far"),
    TopFraction(rungs=(1, 2), keep=0.3),
    TopFraction(rungs=(1, 2, 3), keep=0.9),
    Asha(rungs=(1, 2)),
    Hyperband(rungs=(1, 2)),
)


@pytest.mark.parametrize("rule", FINISHED_RULES, ids=lambda rule: rule.kind)
def test_no_search_finishes_more_and_one_that_improves_finishes_as_many(rule: Hurdle) -> None:
    chance, marks = random.Random(20261128), len(rule.rungs_of(3))
    for _ in range(40):
        sizes = [chance.randint(0, 4), *(chance.randint(1, 6) for _ in range(chance.randint(1, 6)))]
        for improves in (True, False):
            value, cohorts = 1e6, list[list[Runner]]()
            for number, size in enumerate(sizes):
                members = []
                for position in range(size):
                    value = value - 1 if improves else chance.uniform(3, 6)
                    values = [value - mark / 100 for mark in range(marks + 1)]
                    members.append(Runner(f"{number}-{position}", number, values))
                cohorts.append(members)
            cohorts[0].append(Runner("baseline", 0, [5.0] * (marks + 1), shown=[2e6] * marks, exempt=True))
            decisions = race(rule, cohorts, chance)
            finished = [
                sum(all(each.cleared for each in decisions[runner.name]) for runner in members if not runner.exempt)
                for members in cohorts
            ]
            most = rule.most_finished(sizes)
            assert all(found <= bound for found, bound in zip(finished, most, strict=True))
            assert tuple(finished) == most or not improves


RULE = RankChecked(rungs=(1, 2))


RANKED = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)]


REVERSED = [(4.0, 1.0), (3.0, 2.0), (2.0, 3.0), (1.0, 4.0)]


def decided(earlier: list[TrialView], level: int, value: float) -> HurdleDecision:
    """Return the decision on a trial of the second cohort."""
    trial = TrialView("new", 1, State.WAITING, (9.0,) * level + (value,), level)
    return RULE.decide(Population((*earlier, trial)))["new"]


def ended(values: list[tuple[float, float]], finals: list[float | None]) -> list[TrialView]:
    return [
        TrialView(f"{place}", 0, State.DONE, each, 2, final)
        for place, (each, final) in enumerate(zip(values, finals, strict=True))
    ]


def test_an_early_rung_is_used_while_it_ranks_as_the_last_one_does() -> None:
    no_finals: list[float | None] = [None] * 4
    assert decided(ended(RANKED, no_finals), 0, 5.0) == HurdleDecision(False, 5.0, 1.0, 5)
    assert decided(ended(REVERSED, no_finals), 0, 5.0) == HurdleDecision(True, 5.0, None)
    assert decided(ended(RANKED[:3], no_finals[:3]), 0, 5.0) == HurdleDecision(True, 5.0, None)  # too few
    assert decided(ended([(1.0, 1.0)] * 4, no_finals), 0, 5.0).cleared  # equal values have no ranks


def test_no_rung_is_used_where_the_last_one_ranks_unlike_the_final_losses() -> None:
    crossing: list[float | None] = [4.0, 3.0, 2.0, 1.0]
    for level in (0, 1):
        assert decided(ended(RANKED, crossing), level, 5.0) == HurdleDecision(True, 5.0, None)
        assert not decided(ended(RANKED, [1.0, 2.0, 3.0, 4.0]), level, 5.0).cleared
        assert not decided(ended(RANKED, [4.0, 3.0, 2.0, None]), level, 5.0).cleared  # three finals tell nothing


@pytest.mark.parametrize("seed", range(2))
def test_with_ranks_that_never_change_the_first_rung_is_that_of_asha_after_the_first_cohort(seed: int) -> None:
    chance = random.Random(seed)
    field = [[(value := chance.random(), value) for _ in range(5)] for _ in range(4)]
    found, expected = (
        race(rule, runners(field), random.Random(seed)) for rule in (RULE, Asha(rungs=(1, 2), reduction_factor=3.0))
    )
    first = {name for name in found if name.startswith("0-")}
    assert all(found[name][0].cleared for name in first)
    late = [name for name in found if name not in first]
    assert [found[name][0] for name in late] == [expected[name][0] for name in late]


def test_the_default_rungs_are_shares_of_the_budget() -> None:
    assert RankChecked().rungs_of(1_000_000) == (62500, 125000, 250000, 500000)
    assert RULE.rungs_of(1_000_000) == (1, 2)


def ranks(values: Sequence[float]) -> list[float]:
    return [sum(other < value for other in values) + sum(other <= value for other in values) for value in values]


def test_the_rank_correlation_is_that_of_pearson_over_ranks_to_the_last_digit() -> None:
    chance = random.Random(20261129)
    for _ in range(200):
        size, digits = chance.randint(FEWEST_COMPARED, 30), chance.choice((0, 1, 15))  # few digits: many ties
        pairs = [(round(chance.uniform(3, 6), digits), round(chance.uniform(3, 6), digits)) for _ in range(size)]
        first, second = (ranks(values) for values in zip(*pairs, strict=True))
        constant = len({*first}) == 1 or len({*second}) == 1
        assert rank_correlation(pairs) == (0.0 if constant else correlation(first, second))
        assert rank_correlation(pairs[: FEWEST_COMPARED - 1]) is None


@pytest.mark.parametrize("rule", MARKED, ids=named)
def test_a_population_that_is_shown_its_trials_step_by_step_decides_as_a_new_one(rule: Hurdle) -> None:
    chance = random.Random(20261130)
    for _ in range(40):
        field, kept = runners(random_table(chance)), Population()
        entered: list[Runner] = []
        for cohort in field:
            entered += cohort
            for _ in range(3):
                for runner in chance.sample(entered, len(entered)):
                    if runner.state(2) is State.MOVING:
                        runner.shown.append(runner.values[len(runner.shown)])
                for runner in entered:
                    kept.show(runner.view((1, 2)))
                decided = rule.decide(kept)
                assert decided == rule.decide(population_of(rule, entered, (1, 2)))
                for runner in entered:
                    if (decision := decided.get(runner.name)) is not None:
                        fix(kept, rule, runner, len(runner.decisions), decision)
                        runner.decisions.append(decision)
