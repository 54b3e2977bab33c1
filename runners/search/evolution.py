"""Tournament selection with mutation from a seed architecture. So et al. 2019, arXiv 1901.11117, section 3.

After Real et al. 2018 (arXiv 1802.01548): of a random group the fittest is a parent; each of its genes is redrawn
with the mutation rate; the child is scored; of another group the least fit dies, and the child takes its place.
Pure: genomes and fitness in, genomes out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from numpy.random import Generator

from configuration.designs.search import Tournament
from foundation.randomness import stream

Genome = TypeVar("Genome")
Mutate = Callable[[Genome, Generator], Genome]
Draw = Callable[[Generator], Genome]


@dataclass(frozen=True)
class Individual(Generic[Genome]):
    """A genome with its loss, infinite where it has none: smaller is fitter."""

    genome: Genome
    loss: float


def survivors(settings: Tournament, seed: int, born: Sequence[Individual[Genome]]) -> tuple[Individual[Genome], ...]:
    """Return who lives after everyone was born, in that order; the group that decides a death is drawn by number."""
    living: list[Individual[Genome]] = []
    for number, child in enumerate(born):
        if len(living) >= settings.population:
            group = _group(settings, len(living), stream(seed, "death in a tournament", number))
            living.pop(max(group, key=lambda place: (living[place].loss, -place)))
        living.append(child)
    return tuple(living)


def offspring(
    settings: Tournament,
    seed: int,
    born: Sequence[Individual[Genome]],
    number: int,
    ways: tuple[Mutate[Genome], Draw[Genome]],
) -> Genome:
    """Return child `number`, made from those born so far; `ways` are how to mutate and how to draw evenly.

    The same number, seed and past give the same child.
    """
    mutate, draw = ways
    chance = stream(seed, "child of a tournament", number)
    if settings.initial_population == "random" and len(born) < settings.population:
        return draw(chance)
    living = survivors(settings, seed, born)
    fittest = min(_group(settings, len(living), chance), key=lambda place: (living[place].loss, place))
    return mutate(living[fittest].genome, chance)


def _group(settings: Tournament, living: int, chance: Generator) -> list[int]:
    size = min(settings.tournament_size, living)
    return sorted(int(place) for place in chance.choice(living, size=size, replace=False))
