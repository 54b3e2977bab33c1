"""A policy of evolution: the points at which a child may stop, who dies, and how many candidates can finish. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from steeplechase.foundation.schema import Count, Schema

ROUNDING = 1e-9  # sums of shares of a training
Rate = Annotated[float, Field(gt=0, le=1)]


class Tournament(Schema):
    """Parameters of tournament selection; defaults from So et al. 2019 (100, 30, 0.025)."""

    population: Count = 100
    """Size of the population."""
    tournament_size: Count = 30
    """Candidates of a tournament, at most the population."""
    mutation_rate: Rate = 0.025
    """Probability that a gene of a child is redrawn; a child that equals its parent is mutated again."""
    initial_population: Literal["baseline", "random"] = "baseline"
    """First generation: mutations of the baseline, or uniform draws, until the population is full."""
    children_per_hurdle: Count | None = None
    """Of the policy `progressive_hurdles`: finished children between two hurdles. Default: the population."""
    trained_share: Rate = 1.0
    """Of the policy `tournament`: the share of a training that each child gets."""


class Policy(ABC):
    """What one policy of evolution does otherwise than others; a file of this folder has one as `POLICY`."""

    kind: ClassVar[str]
    """Its name in `design.policy`, and that of its file."""
    has_hurdles: ClassVar[bool] = False
    """Whether hurdles are set, at every point but the last."""

    @abstractmethod
    def points(self, shares: Sequence[float], settings: Tournament) -> tuple[int, ...]:
        """Return the numbers, from 1, of the points at which a child may stop; `shares` are those of a training."""

    @abstractmethod
    def trains_to_the_end(self, settings: Tournament) -> bool:
        """Return whether every child is trained to the end, so that it can have a score."""

    @abstractmethod
    def most_finished(self, trainings: float, shares: Sequence[float], settings: Tournament, asked: int) -> float:
        """Return how many full trainings a budget has for candidates that finish; `shares` are those of the rungs."""

    @abstractmethod
    def limit(self, trainings: float, rungs: int, settings: Tournament) -> str:
        """Return why no more candidates finish."""

    def dies(self, losses: Sequence[float], group: Callable[[], Sequence[int]]) -> int:
        """Return the place of the member that dies, of a population from the oldest on: the least fit of a group."""
        return max(group(), key=lambda place: (losses[place], -place))
