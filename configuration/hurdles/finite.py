"""The hurdle that every trial meets: its held-out loss is a finite number. NaN, missing and infinite never pass."""

from typing import Literal

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population
from configuration.hurdles.rungs import Probe
from foundation.schema import Schema


class Finite(Schema):
    """Only a diverged trial is stopped; a planned row of a table is never stopped for being weak."""

    kind: Literal["finite"] = "finite"
    """Chooses the hurdle that only a diverged trial fails."""

    @property
    def probe(self) -> Probe | None:
        """Nothing is asked before the end."""
        return None

    @property
    def rung_tokens(self) -> tuple[int, ...]:
        """Where the hurdles stand, in tokens: nowhere before the end."""
        return ()

    def cohort_size(self, number: int, asked: int) -> int:
        """Return how many candidates a cohort is to have."""
        return asked

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial, whatever the others have."""
        return {one.name: HurdleDecision(one.value is not None, one.value, None) for one in population.waiting}
