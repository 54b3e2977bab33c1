"""Policies of evolution: progressive hurdles computed by hand, who dies, and children that cost nothing."""

from collections.abc import Iterable, Iterator
from math import inf, nan

import numpy as np
import pytest

from runners.policies import POLICIES
from runners.policies.breeder import RecordedBreeder
from runners.policies.evolution import Evolution, Evolving
from runners.policies.policy import Action, View
from runners.policies.race import Race
from runners.replay.simulation import Simulation
from steeplechase.configuration.designs.search import Tournament

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
    table: list[tuple[float, ...]], evolving: Evolving, order: Iterable[int] | None = None, budget: float = 99.0
) -> tuple[Evolution, Race, list[Action], Scripted]:
    """Return a search of one worker whose children have the losses of a table, with its actions."""
    made: list[Evolution] = []
    breeder = Scripted(range(len(table)) if order is None else order)

    def policy(view: View, generator: np.random.Generator) -> Evolution:
        made.append(Evolution(view, generator, evolving))
        return made[0]

    costs, generator = np.arange(1, POINTS + 1) / POINTS, np.random.default_rng(0)
    race = Race(policy, np.zeros((len(table), 0)), costs, budget, generator, breeder)
    actions: list[Action] = []
    while found := [*race.actions(1)]:
        (action,) = found
        values = [*table[action.candidate][int(race.reached[action.candidate]) : action.points]]
        broken = [place for place, value in enumerate(values) if value == inf]
        race.arrive(action.candidate, values[: broken[0] + 1] if broken else values)
        actions.append(action)
    return made[0], race, actions, breeder


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
    policy, race, actions, _ = raced(table, Evolving(HURDLES, hurdles=True))
    assert [(action.candidate, action.points) for action in actions] == [
        *((0, 1), (1, 1), (2, 1), (2, 2), (3, 1)),
        *((4, 1), (4, 2), (4, 3), (5, 1), (5, 2), (6, 1), (7, 1), (7, 2), (7, 3)),
    ]
    assert policy.hurdles == [7.0, 5.0]
    assert race.spent == pytest.approx(
        len(actions) / POINTS
    )  # the closed form: one point for each hurdle passed, and one
    decided = {key: (found.cleared, found.threshold, found.references) for key, found in race.judgements.items()}
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
    policy, _, actions, breeder = raced(table, Evolving(HURDLES, hurdles=True))
    assert [action.points for action in actions] == [1] * 5
    assert breeder.parents == [None, None, None, 1, 1, 1]
    assert [(member.candidate, member.loss) for member in policy.population][:1] == [(1, 1.0)]


def test_equal_children_pass_no_hurdle() -> None:
    _, _, actions, _ = raced([(2.0, nan, nan)] * 6, Evolving(HURDLES, hurdles=True))
    assert {action.points for action in actions} == {1}


def test_a_hurdle_is_set_without_diverged_children_and_waits_for_one_that_has_not() -> None:
    policy, _, _, _ = raced(
        [(inf, nan, nan)] * 3 + [(4.0, nan, nan), (3.0, nan, nan)], Evolving(HURDLES, hurdles=True)
    )
    assert policy.hurdles == [4.0]


def test_the_least_fit_dies_in_a_tournament() -> None:
    table = [(9.0, 9.0, loss) for loss in (1.0, 4.0, 2.0, 3.0)]
    policy, _, actions, _ = raced(table, Evolving(Tournament(population=2, tournament_size=2)))
    assert [action.points for action in actions] == [POINTS] * 4
    assert [member.candidate for member in policy.population] == [0, 3]  # the newest enters after the death


def test_a_share_of_a_training_is_the_fitness_of_a_search_without_hurdles() -> None:
    settings = Tournament(population=2, tournament_size=2, trained_share=0.5)
    _, race, actions, _ = raced([(3.0, 2.0, 1.0)] * 4, Evolving(settings))
    assert {action.points for action in actions} == {2}
    assert race.spent == pytest.approx(4 * 2 / POINTS)


def test_a_child_that_equals_one_of_before_costs_nothing_and_counts() -> None:
    table = [(3.0, 2.0, 1.0), (4.0, 3.0, 2.0), (5.0, 4.0, 3.0)]
    settings = Tournament(population=3, tournament_size=1)
    policy, race, actions, _ = raced(table, Evolving(settings), order=[0, 0, 1, 0, 2, 1])
    assert [action.candidate for action in actions] == [0, 1, 2]
    assert race.spent == pytest.approx(3.0)
    assert sum(member.candidate == 0 for member in policy.population) >= 1
    assert len(policy.population) == 3


def test_mutants_of_recorded_candidates_are_near_their_parents() -> None:
    """On a whole grid of two values the number of changed genes is binomial, given that it is not 0."""
    genes, rate = 6, 0.2
    grid = np.array([[int(bit) for bit in f"{number:06b}"] for number in range(2**genes)], dtype=np.float64)
    breeder, generator = RecordedBreeder(grid), np.random.default_rng(1)
    children = [breeder.mutant(5, rate, generator) for _ in range(2000)]
    changed = [(grid[child] != grid[5]).sum() for child in children if child is not None]
    assert min(changed) == 1
    assert np.mean(changed) == pytest.approx(genes * rate / (1 - (1 - rate) ** genes), abs=0.07)


def landscape(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses at four points of every genome of eight bits, and the genomes, both in random order.

    Ends are sums of effects of genes and of pairs of genes; the correlation of the first point with them is 0.7.
    """
    generator = np.random.default_rng(seed)
    genomes = np.array([[int(bit) for bit in f"{number:08b}"] for number in range(256)], dtype=np.float64)
    pairs = generator.normal(scale=0.3, size=(8, 8))
    ends = genomes @ generator.normal(size=8) + np.einsum("ni,ij,nj->n", genomes, pairs, genomes)
    ends = (ends - ends.min()) / ends.std()
    noise = np.sqrt(1 / 0.7**2 - 1) * np.array([1.0, 0.7, 0.4, 0.0])
    values = ends[:, None] + noise * generator.normal(size=(256, 4)) + np.array([1.5, 1.0, 0.5, 0.0])
    order = generator.permutation(256)
    return values[order], genomes[order]


def test_evolution_under_hurdles_ends_nearer_the_optimum_than_random_search_of_the_same_cost() -> None:
    regrets: dict[str, list[float]] = {"progressive_hurdles": [], "random": []}
    for name, found in regrets.items():
        for seed in range(12):
            values, genomes = landscape(seed)
            simulation = Simulation(values, np.arange(1, 5) / 4, genomes, 30.0)
            *_, last = simulation.run(POLICIES[name], np.random.default_rng(seed))
            assert last.spent <= 30.0 + 1e-6
            finished = values[simulation.reached == 4, -1]
            found.append(float(finished.min()) if len(finished) else 9.0)
    assert np.mean(regrets["progressive_hurdles"]) < 0.75 * np.mean(regrets["random"])
