"""Policies of evolution: progressive hurdles computed by hand, who dies, and children that cost nothing."""

from collections.abc import Iterable, Iterator, Sequence
from math import inf, nan

import numpy as np
import pytest

from runners.policies.evolution import Action, Evolution
from runners.scheduling.race_of_trials import Race
from steeplechase.configuration.policies import policy_of
from steeplechase.configuration.policies.policy import Tournament

POINTS = 3


class Scripted:
    """A breeder that gives candidates in a declared order, and notes the parents."""

    def __init__(self, order: Iterable[int]) -> None:
        self._order: Iterator[int] = iter(order)
        self.parents: list[int | None] = []

    def drawn(self, generator: np.random.Generator) -> int | None:
        return next(self._order, None)

    def mutant(self, parent: int | None, rate: float, generator: np.random.Generator) -> int | None:
        self.parents.append(parent)
        return next(self._order, None)


def raced(
    table: Sequence[tuple[float, ...]],
    settings: Tournament,
    policy: str = "progressive_hurdles",
    order: Iterable[int] | None = None,
    budget: float = 99.0,
) -> tuple[Evolution, Race, list[Action], Scripted]:
    """Return a search of one worker whose children have the losses of a table, with its actions."""
    breeder = Scripted(range(len(table)) if order is None else order)
    shares = np.arange(1, POINTS + 1) / POINTS
    evolution = Evolution(policy_of(policy), settings, shares.tolist(), breeder, np.random.default_rng(0))
    race, actions = Race(evolution, shares, budget), list[Action]()
    while found := [*race.next_action(1)]:
        (action,) = found
        values = [*table[action.candidate][race.reached.get(action.candidate, 0) : action.points]]
        broken = [place for place, value in enumerate(values) if value == inf]
        race.observe(action.candidate, values[: broken[0] + 1] if broken else values)
        actions.append(action)
    return evolution, race, actions, breeder


HURDLES = Tournament(population=3, tournament_size=3, children_per_hurdle=2)


def test_progressive_hurdles_follow_a_sequence_computed_by_hand() -> None:
    table = [
        (8.0, nan, nan),  # the first two train to the first rung; their mean is the first hurdle, 7
        (6.0, nan, nan),
        (6.5, 5.0, nan),  # under 7: the second rung, where there is no hurdle yet
        (7.0, nan, nan),  # not under 7. Four have finished: 5, of the one that trained longest, is the second hurdle
        (6.0, 4.9, 4.0),  # under both
        (6.0, 5.0, nan),  # not under 5
        (inf, nan, nan),  # diverged: a member without fitness
        (6.9, 4.0, 4.5),
    ]
    policy, race, actions, _ = raced(table, HURDLES)
    assert [(action.candidate, action.points) for action in actions] == [
        *((0, 1), (1, 1), (2, 1), (2, 2), (3, 1)),
        *((4, 1), (4, 2), (4, 3), (5, 1), (5, 2), (6, 1), (7, 1), (7, 2), (7, 3)),
    ]
    assert policy.hurdles == [7.0, 5.0]
    assert race.spent == pytest.approx(
        len(actions) / POINTS
    )  # the closed form: one point for each hurdle passed, and one
    decided = {key: (found.cleared, found.threshold, found.references) for key, found in policy.judgements.items()}
    assert decided == {
        (0, 1): (False, None, ()),
        (1, 1): (False, None, ()),
        (2, 1): (True, 7.0, (0, 1)),
        (2, 2): (False, None, ()),
        (3, 1): (False, 7.0, (0, 1)),
        (4, 1): (True, 7.0, (0, 1)),
        (4, 2): (True, 5.0, (2,)),
        (5, 1): (True, 7.0, (0, 1)),
        (5, 2): (False, 5.0, (2,)),
        (7, 1): (True, 7.0, (0, 1)),
        (7, 2): (True, 5.0, (2,)),
    }


def test_a_child_under_the_hurdle_keeps_its_fitness_and_may_be_a_parent() -> None:
    """The second child sets the hurdle with the first and stops; the fittest, it is the parent of later ones."""
    table = [(5.0, nan, nan), (1.0, nan, nan), (3.0, nan, nan), (3.5, nan, nan), (4.0, nan, nan)]
    policy, _, actions, breeder = raced(table, HURDLES)
    assert [action.points for action in actions] == [1] * 5
    assert breeder.parents == [None, None, None, 1, 1, 1]
    assert [(member.candidate, member.loss) for member in policy.population][:1] == [(1, 1.0)]


def test_a_hurdle_is_set_without_diverged_children_and_waits_for_one_that_has_not() -> None:
    policy, _, _, _ = raced([(inf, nan, nan)] * 3 + [(4.0, nan, nan), (3.0, nan, nan)], HURDLES)
    assert policy.hurdles == [4.0]


def test_the_least_fit_dies_in_a_tournament() -> None:
    table = [(9.0, 9.0, loss) for loss in (1.0, 4.0, 2.0, 3.0)]
    policy, _, actions, _ = raced(table, Tournament(population=2, tournament_size=2), "tournament")
    assert [action.points for action in actions] == [POINTS] * 4
    assert [member.candidate for member in policy.population] == [0, 3]  # the newest enters after the death


def test_a_child_that_equals_one_of_before_costs_nothing_and_counts() -> None:
    table = [(3.0, 2.0, 1.0), (4.0, 3.0, 2.0), (5.0, 4.0, 3.0)]
    settings = Tournament(population=3, tournament_size=1)
    policy, race, actions, _ = raced(table, settings, "tournament", order=[0, 0, 1, 0, 2, 1])
    assert [action.candidate for action in actions] == [0, 1, 2]
    assert race.spent == pytest.approx(3.0)
    assert sum(member.candidate == 0 for member in policy.population) >= 1
    assert len(policy.population) == 3
