"""Evolution of candidates: tournament selection, and Progressive Dynamic Hurdles.

So et al. 2019, arXiv 1901.11117, section 4: the fittest of a random group is the parent, a mutant is the child, and
the least fit of another group dies.

Under progressive hurdles a child trains to the first rung. After `children_per_hurdle` finished children the mean
fitness of the members of the population that have trained longest becomes the hurdle at their rung, and so on after
as many more. A later child that is better than the hurdle trains to the next rung; one that is not keeps the fitness
that it has, and is a member of the population like any other. A child equal to one of before has its fitness at once.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import fmean
from typing import Protocol

from numpy.random import Generator

from steeplechase.configuration.policies.policy import Policy, Tournament

KNOWN_IN_A_ROW = 1000
"""Children in a row that equal candidates of before, after which the space counts as exhausted."""


@dataclass(frozen=True, slots=True)
class Action:
    """Train a candidate up to a number of points; a paused candidate is resumed."""

    candidate: int
    points: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a hurdle decided on a candidate, for the ledger."""

    cleared: bool
    threshold: float | None
    """None while there is no hurdle yet."""
    references: tuple[int, ...]
    """The candidates whose mean is the threshold."""


class Breeder(Protocol):
    """Candidates by number; a genome that gives a candidate of before gives its number."""

    def drawn(self, generator: Generator) -> int | None:
        """Return a uniformly drawn candidate, None if there is none left to number."""

    def mutant(self, parent: int | None, rate: float, generator: Generator) -> int | None:
        """Return a child that differs from its parent; None is the declared architecture. None if none was found."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a population: a candidate, its loss where it stopped (infinite if it diverged), and its rung.

    The loss is what smaller values of are fitter: in a search by score the score with its sign changed.
    """

    candidate: int
    loss: float
    rung: int


class Evolution:
    """State of an evolution: a function of the observations, their order and the seed."""

    def __init__(
        self, policy: Policy, settings: Tournament, shares: Sequence[float], breeder: Breeder, generator: Generator
    ) -> None:
        """Begin an evolution; `shares` are those of a training at each point of it."""
        self._policy, self._settings, self._breeder, self._generator = policy, settings, breeder, generator
        self._points = policy.points(shares, settings)
        """Points at which a child may stop; hurdles stand at all but the last one."""
        self.hurdles: list[float] = []
        """The loss that a child must be under at each rung, for those that are set."""
        self._references: list[tuple[int, ...]] = []
        """The candidates whose mean each hurdle is."""
        self.judgements: dict[tuple[int, int], Judgement] = {}
        """What the hurdles decided, by candidate and its observed points."""
        self.population: list[Member] = []
        self.finished: dict[int, Member] = {}
        """By candidate, every child that has its fitness."""
        self.duplicates = 0
        """Children that equalled a candidate of before."""
        self._growing = set[int]()
        """Candidates without their fitness."""
        self._children, self._continued, self._born = 0, deque[Action](), 0

    def revalue(self, losses: Mapping[int, float]) -> None:
        """Give finished candidates other losses: what they are compared by has changed."""
        self.population = [self._with_loss(member, losses) for member in self.population]
        self.finished = {candidate: self._with_loss(member, losses) for candidate, member in self.finished.items()}

    @staticmethod
    def _with_loss(member: Member, losses: Mapping[int, float]) -> Member:
        return replace(member, loss=losses.get(member.candidate, member.loss))

    def next_action(self) -> Action | None:
        """Return the further training of a child over a hurdle, else a new child's; None while none can be born."""
        if self._continued:
            return self._continued.popleft()
        for _ in range(KNOWN_IN_A_ROW):
            candidate = self._child()
            if candidate is None:
                return None
            if candidate in self.finished:
                self._born += 1
                self.duplicates += 1
                self._finish(self.finished[candidate])
            elif candidate not in self._growing:
                self._born += 1
                self._growing.add(candidate)
                return Action(candidate, self._points[0])
        return None

    def observe(self, candidate: int, points: int, loss: float) -> None:
        """Continue a child over the hurdle at its rung, or add it to the population; `loss` is that at its points."""
        rung = sum(point < points for point in self._points)
        if isfinite(loss) and rung < len(self._points) - 1 and points == self._points[rung]:
            hurdle = self.hurdles[rung] if rung < len(self.hurdles) else None
            references = self._references[rung] if hurdle is not None else ()
            over = hurdle is not None and loss < hurdle
            self.judgements[candidate, points] = Judgement(over, hurdle, references)
            if over:
                self._continued.append(Action(candidate, self._points[rung + 1]))
                return
        self._growing.remove(candidate)
        self._finish(Member(candidate, loss, min(rung, len(self._points) - 1)))

    def _child(self) -> int | None:
        settings, generator, breeder = self._settings, self._generator, self._breeder
        if self._born < settings.population:
            if settings.initial_population == "random":
                return breeder.drawn(generator)
            return breeder.mutant(None, settings.mutation_rate, generator)
        if not self.population:
            return None if self._growing else breeder.drawn(generator)
        parent = min(self._group(), key=lambda place: (self.population[place].loss, place))
        return breeder.mutant(self.population[parent].candidate, settings.mutation_rate, generator)

    def _finish(self, member: Member) -> None:
        """Add a member; one dies if the population was full, and a hurdle may be set."""
        self.finished[member.candidate] = member
        if len(self.population) >= self._settings.population:
            self.population.pop(self._policy.dies([each.loss for each in self.population], self._group))
        self.population.append(member)
        self._children += 1
        self._set_hurdle()

    def _group(self) -> list[int]:
        size = min(self._settings.tournament_size, len(self.population))
        return sorted(self._generator.choice(len(self.population), size=size, replace=False).tolist())

    def _set_hurdle(self) -> None:
        """Set the next hurdle when its children have finished; it waits until one of them has reached its rung."""
        settings, rung = self._settings, len(self.hurdles)
        each = settings.children_per_hurdle or settings.population
        longest = [member for member in self.population if member.rung == rung and isfinite(member.loss)]
        if rung < len(self._points) - 1 and self._children >= each * (rung + 1) and longest:
            self.hurdles.append(fmean(member.loss for member in longest))
            self._references.append(tuple(sorted({member.candidate for member in longest})))
