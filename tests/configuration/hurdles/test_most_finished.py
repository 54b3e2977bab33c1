"""The largest number of trials that can finish, against searches by chance and searches that only improve."""

import random

import pytest

from steeplechase.configuration.hurdles.cohorts import Asha, Hyperband, TopFraction
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.configuration.hurdles.rungs import Finite, Hurdle
from tests.factories.populations import Runner, race

RULES: tuple[Hurdle, ...] = (
    Finite(),
    ProgressiveMean(rungs=(1, 2)),
    ProgressiveMean(rungs=(1, 2, 3), population="all_so_far"),
    TopFraction(rungs=(1, 2), keep=0.3),
    TopFraction(rungs=(1, 2, 3), keep=0.9),
    Asha(rungs=(1, 2)),
    Hyperband(rungs=(1, 2)),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
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
