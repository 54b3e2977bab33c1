"""A search with a policy, simulated on a tabulated space: the candidates and decisions that `run` would have.

A training takes its losses from the table and ends in the order of cost. With `at_once: 1` and one pretraining seed
the simulation is `run` with the same losses; with more at once trainings in `run` end in the order of the machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runners.policies import policy_of
from runners.policies.policy import Numbers
from runners.replay.simulation import Simulation, SimulationState
from runners.search.breeding import BreedingPool
from runners.search.pool import pool_of
from runners.search.tabulated import Table
from runners.stage_labels import pretraining_tokens
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.designs.search import EVOLUTIONARY
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.randomness import stream


@dataclass(frozen=True)
class SimulatedTraining:
    """One training of a simulated search."""

    arm: Arm
    candidate: int
    """Number of the candidate."""
    spent: float
    """Full trainings that the search has spent after it."""
    losses: tuple[float, ...]
    """Losses at the new points; the last one is infinite after divergence."""
    finished: bool
    """Whether the candidate has reached the last point."""
    final_loss: float
    """The table's loss of the candidate at the last point, which the search may not have seen."""


@dataclass(frozen=True)
class Simulated:
    """A simulated search."""

    trainings: tuple[SimulatedTraining, ...]
    """In the order in which they end."""
    duplicates: int
    """Children that equal a candidate of before, which train nothing."""


class TabulatedBreeder:
    """Implements Breeder: a pool whose candidates have their losses from a table."""

    def __init__(self, experiment: Experiment, table: Table) -> None:
        assert experiment.search is not None
        self.pool, self._experiment, self._table = BreedingPool(experiment), experiment, table
        self._tokens = pretraining_tokens(experiment)
        self.values = np.full((experiment.search.max_candidates - 1, len(self._tokens)), np.nan)
        """[candidates, points]; NaN of candidates that are not born."""

    def drawn(self, generator: np.random.Generator) -> int | None:
        """Return a uniformly drawn candidate."""
        return self._with_losses(self.pool.drawn(generator))

    def mutant(self, parent: int | None, rate: float, generator: np.random.Generator) -> int | None:
        """Return a mutant of a candidate, or of the declared architecture."""
        return self._with_losses(self.pool.mutant(parent, rate, generator))

    def _with_losses(self, number: int | None) -> int | None:
        if number is not None and np.isnan(self.values[number, 0]):
            candidate = self.pool.arms[number].candidate
            self.values[number] = self._table.losses(self._experiment, candidate, self._tokens)
        return number


def simulated(experiment: Experiment, table: Table) -> Simulated:
    """Return the search of an experiment with the losses of a table.

    Raises ConfigurationError for a search without a policy or of another table, DataError for a candidate that the
    table lacks.
    """
    design, tokens = experiment.search, pretraining_tokens(experiment)
    if design is None or design.policy is None or design.trainings is None:
        raise ConfigurationError("design.policy: only a search with a policy can be replayed on a table")
    if mistakes := table.mistakes(experiment):
        raise ConfigurationError(mistakes)
    costs, generator = (
        np.array(tokens) / experiment.pretraining.tokens,
        stream(design.seed, f"policy {design.policy}"),
    )
    arms: Sequence[Arm]
    breeder = TabulatedBreeder(experiment, table) if design.policy in EVOLUTIONARY else None
    if breeder is not None:
        arms, values, features = breeder.pool.arms, breeder.values, np.zeros((len(breeder.values), 0))
    else:
        pool = pool_of(experiment)
        arms, features, values = pool.arms, pool.features, _values(experiment, table, pool.arms)
    simulation = Simulation(values, costs, features, design.trainings, breeder)
    states = simulation.run(policy_of(design), generator, design.at_once)
    trainings = tuple(_training(state, arms, values) for state in states)
    return Simulated(trainings, simulation.duplicates)


def _training(state: SimulationState, arms: Sequence[Arm], values: Numbers) -> SimulatedTraining:
    assert state.trained is not None
    candidate, points = state.trained
    losses, (final,) = values[candidate, points.start : points.stop], values[candidate, -1:]
    finished = points.stop == values.shape[1]
    return SimulatedTraining(arms[candidate], candidate, state.spent, tuple(losses.tolist()), finished, float(final))


def _values(experiment: Experiment, table: Table, arms: Sequence[Arm]) -> Numbers:
    tokens = pretraining_tokens(experiment)
    return np.array([table.losses(experiment, arm.candidate, tokens) for arm in arms])
