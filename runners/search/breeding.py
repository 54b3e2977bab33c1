"""Candidates of a search space that are made during the search: draws and mutants, each numbered once.

Genomes that give equal candidates have one number, so that a child that equals a candidate of before costs nothing.
"""

from typing import Any

from numpy.random import Generator

from runners.search.encoding import draw, identity, mutant, point_of, possible, uniformly
from steeplechase.configuration.arm import Arm, changed_arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical_text

DRAWS = 1000
"""Invalid draws in a row, or mutants that equal the declared architecture, after which no candidate is found."""


class BreedingPool:
    """Implements Breeder; the arms have no names, and the declared architecture is none of them.

    After `max_candidates` less the declared one there are no further candidates.
    """

    def __init__(self, experiment: Experiment) -> None:
        design, self._baseline = experiment.search, experiment.baseline
        assert design is not None
        in_order = dict(sorted(design.space.items()))  # records have another order of the axes than the file
        self._design, self._constraints = design.model_copy(update={"space": in_order}), experiment.constraints
        self._declared = identity(experiment.baseline)
        self._capacity = design.max_candidates - 1
        self._numbers: dict[str, int] = {}
        self._known: dict[str, int | None] = {}
        """The numbers of points that were seen before, None of those without one."""
        self._genomes: dict[int | None, dict[str, str]] = {}
        self.arms: list[Arm] = []
        """By number."""
        self.parents: dict[int, int | None] = {}
        """By number, the first parent of each mutant; None is the declared architecture."""

    def drawn(self, generator: Generator) -> int | None:
        """Return a uniformly drawn candidate."""
        choose = uniformly(generator)
        for _ in range(DRAWS if len(self.arms) < self._capacity else 0):
            point = draw(self._design, self._baseline, choose)
            number = None if point is None else self._number(point)
            if number is not None:
                return number
        return None

    def mutant(self, parent: int | None, rate: float, generator: Generator) -> int | None:
        """Return a mutant that differs from its parent and from the declared architecture."""
        assert rate == self._design.tournament.mutation_rate
        genome, before = self._genome(parent), len(self.arms)
        for _ in range(DRAWS if before < self._capacity else 0):
            point = mutant(self._design, self._baseline, genome, generator)
            number = self._number(point) if point else None
            if number is not None and number != parent:
                if len(self.arms) > before:
                    self.parents[number] = parent
                return number
        return None

    def _genome(self, number: int | None) -> dict[str, str]:
        """Return the genome of a candidate, or of the declared architecture."""
        if number not in self._genomes:
            candidate = self._baseline if number is None else self.arms[number].candidate
            self._genomes[number] = point_of(self._design, candidate)
        return self._genomes[number]

    def _number(self, point: dict[str, Any]) -> int | None:
        """Return the number of a point's candidate; None if it is impossible or declared."""
        key = canonical_text(point)
        if key not in self._known:
            self._known[key] = self._numbered(point)
        return self._known[key]

    def _numbered(self, point: dict[str, Any]) -> int | None:
        text = possible(self._baseline, point, self._constraints)
        if text is None or text == self._declared:
            return None
        if text not in self._numbers:
            self._numbers[text] = len(self.arms)
            self.arms.append(changed_arm("", self._baseline, point))
        return self._numbers[text]
