"""The hurdle of every trial: a finite held-out loss. NaN, missing and infinite values never pass."""

from typing import Literal

from steeplechase.configuration.hurdles.decision import HurdleDecision
from steeplechase.configuration.hurdles.population import Population
from steeplechase.configuration.hurdles.rungs import WithoutProbe


class Finite(WithoutProbe):
    """Stops diverged trials only; the declared rows of a table always train to the end."""

    kind: Literal["finite"] = "finite"
    """Chooses the hurdle that stops diverged trials only."""

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial, independent of the other trials."""
        return {
            trial.name: HurdleDecision(trial.value is not None, trial.value, None) for trial in population.waiting
        }
