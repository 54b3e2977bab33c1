"""Tournament selection on genomes of letters: reproducible, with the mutation rate, selecting fit parents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from runners.search.evolution import Individual, offspring, survivors
from runners.search.optuna_sampler import propose
from search_space.candidate import Candidate
from search_space.overrides import apply
from steeplechase.configuration.designs import Search
from steeplechase.configuration.designs.search import Tournament

BASELINE = Candidate()
SPACE = {"bottleneck_ratio": (1, 2, 4), "feed_forward_groups": (1, 2, 4), "heads": (4, 8), "depth": (2, 4, 12)}


def born(losses: list[float]) -> list[Individual[int]]:
    return [Individual(place, loss) for place, loss in enumerate(losses)]


def same(genome: int, chance: Generator) -> int:
    return genome


def drawn(chance: Generator) -> int:
    return -1


WAYS = (same, drawn)
LOSSES = st.lists(st.floats(0, 9), min_size=1, max_size=30)


@given(LOSSES, st.integers(1, 8), st.integers(1, 8), st.integers(0, 99))
def test_the_population_keeps_its_size_and_the_latest_child(
    losses: list[float], size: int, group: int, seed: int
) -> None:
    settings = Tournament(population=size, tournament_size=group)
    living = survivors(settings, seed, born(losses))
    assert len(living) == min(size, len(losses))
    assert living[-1].genome == len(losses) - 1
    assert living == survivors(settings, seed, born(losses))


@given(LOSSES, st.integers(1, 8), st.integers(0, 99))
def test_in_a_tournament_of_all_the_worst_is_removed_and_the_fittest_is_the_parent(
    losses: list[float], size: int, seed: int
) -> None:
    settings = Tournament(population=size, tournament_size=100)
    living = born(losses)[:size]
    for child in born(losses)[size:]:
        living.remove(max(living, key=lambda one: (one.loss, -living.index(one))))
        living.append(child)
    assert survivors(settings, seed, born(losses)) == tuple(living)
    parent = offspring(settings, seed, born(losses), 7, WAYS)
    assert losses[parent] == min(one.loss for one in living)


def test_a_random_initial_population_is_drawn_up_to_its_size() -> None:
    settings = Tournament(population=3, initial_population="random")
    assert [offspring(settings, 0, born([1.0] * count), 5, WAYS) == -1 for count in range(1, 6)] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(("rate", "expected"), [(0.025, 1.0), (0.5, 2.0)])
def test_a_child_differs_from_its_parent_by_about_the_mutation_rate(rate: float, expected: float) -> None:
    settings = Tournament(mutation_rate=rate)
    design = Search.model_validate(
        {"space": SPACE, "sampler": "tournament", "tournament": settings, "cohort": 60, "max_seeds": 99}
    )
    children = propose(design, BASELINE, (), 0, 60)
    changed = [sum(apply(BASELINE, {path: value}) != BASELINE for path, value in child.items()) for child in children]
    assert min(changed) >= 1
    assert sum(changed) / len(changed) == pytest.approx(expected, abs=0.35)  # at least one, else rate x 4 genes
