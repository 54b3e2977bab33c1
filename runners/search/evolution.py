"""Tournament selection with mutation from a seed architecture. So et al. 2019, arXiv 1901.11117, section 3.

After Real et al. 2018 (arXiv 1802.01548): the fittest individual of a random tournament is the parent; each of its
genes is redrawn with the mutation rate; the child replaces the least fit individual of another tournament.
Pure: genomes and fitness in, genomes out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from numpy.random import Generator

from steeplechase.configuration.designs.search import Tournament
from steeplechase.foundation.randomness import stream

Genome = TypeVar("Genome")
Mutate = Callable[[Genome, Generator], Genome]
Draw = Callable[[Generator], Genome]


@dataclass(frozen=True)
class Individual(Generic[Genome]):
    """A genome and its loss, infinite without one; smaller is fitter."""

    genome: Genome
    loss: float


def survivors(
    settings: Tournament, seed: int, children: Sequence[Individual[Genome]]
) -> tuple[Individual[Genome], ...]:
    """Return the population after all births, in their order; each tournament depends on the child's number alone."""
    population: list[Individual[Genome]] = []
    for number, child in enumerate(children):
        if len(population) >= settings.population:
            group = _group(settings, len(population), stream(seed, "death in a tournament", number))
            population.pop(max(group, key=lambda index: (population[index].loss, -index)))
        population.append(child)
    return tuple(population)


def offspring(
    settings: Tournament,
    seed: int,
    children: Sequence[Individual[Genome]],
    number: int,
    operators: tuple[Mutate[Genome], Draw[Genome]],
) -> Genome:
    """Return child `number` of a population; `operators` are mutation and uniform sampling.

    Deterministic in the number, the seed and the previous children.
    """
    mutate, draw = operators
    generator = stream(seed, "child of a tournament", number)
    if settings.initial_population == "random" and len(children) < settings.population:
        return draw(generator)
    population = survivors(settings, seed, children)
    parent = min(_group(settings, len(population), generator), key=lambda index: (population[index].loss, index))
    return mutate(population[parent].genome, generator)


def _group(settings: Tournament, population: int, generator: Generator) -> list[int]:
    size = min(settings.tournament_size, population)
    return sorted(int(index) for index in generator.choice(population, size=size, replace=False))
