"""A pause at every rung: the policy of the search, not a threshold, decides which trials continue, and when."""

from typing import Literal

from pydantic import Field

from steeplechase.configuration.hurdles.decision import HurdleDecision
from steeplechase.configuration.hurdles.population import Population
from steeplechase.configuration.hurdles.rungs import WithoutProbe
from steeplechase.foundation.schema import Count


class Pause(WithoutProbe):
    """Token rungs at which trials pause until `design.policy` continues them; diverged trials stop."""

    kind: Literal["pause"] = "pause"
    """Chooses pauses, at which `design.policy` decides."""
    rungs: tuple[Count, ...] = Field(min_length=1, examples=[[500000, 1000000]])
    """Token counts at which trials pause, strictly increasing, each below the pretraining budget."""

    def rungs_of(self, tokens: int) -> tuple[int, ...]:
        """Return the token counts of the rungs of a training."""
        return self.rungs

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a stop for every waiting trial without a finite value; the others wait for the policy."""
        return {trial.name: HurdleDecision(False, None, None) for trial in population.waiting if trial.value is None}
