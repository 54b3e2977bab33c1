"""A pause at every rung: the policy of the search, not a threshold, decides which trials continue, and when."""

from typing import Literal

from pydantic import Field

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population
from configuration.hurdles.rungs import Probe
from foundation.schema import Count, Schema


class Pause(Schema):
    """Token rungs at which trials pause until `design.policy` continues them; diverged trials stop."""

    kind: Literal["pause"] = "pause"
    """Chooses pauses, at which `design.policy` decides."""
    rungs: tuple[Count, ...] = Field(min_length=1, examples=[[500000, 1000000]])
    """Token counts at which trials pause, strictly increasing, each below the pretraining budget."""

    @property
    def probe(self) -> Probe | None:
        """None: policies compare held-out losses, at the rungs and at the end."""
        return None

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values pass: losses are smaller for better trials."""
        return False

    @property
    def compared(self) -> str:
        """What is compared, for reports: the held-out loss."""
        return "loss"

    @property
    def rung_tokens(self) -> tuple[int, ...]:
        """Token counts of the rungs."""
        return self.rungs

    def cohort_size(self, number: int, declared_size: int) -> int:
        """Return the size of a cohort."""
        return declared_size

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a stop for every waiting trial without a finite value; the others wait for the policy."""
        return {trial.name: HurdleDecision(False, None, None) for trial in population.waiting if trial.value is None}
