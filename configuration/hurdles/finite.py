"""The hurdle of every trial: a finite held-out loss. NaN, missing and infinite values never pass."""

from typing import Literal

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population
from configuration.hurdles.rungs import Probe
from foundation.schema import Schema


class Finite(Schema):
    """Stops diverged trials only; the declared rows of a table always train to the end."""

    kind: Literal["finite"] = "finite"
    """Chooses the hurdle that stops diverged trials only."""

    @property
    def probe(self) -> Probe | None:
        """None: nothing is evaluated before the end."""
        return None

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values pass: never, no value is compared."""
        return False

    @property
    def compared(self) -> str:
        """What is compared, for reports: the held-out loss."""
        return "loss"

    @property
    def rung_tokens(self) -> tuple[int, ...]:
        """Empty: no rung before the end."""
        return ()

    def cohort_size(self, number: int, declared_size: int) -> int:
        """Return the size of a cohort."""
        return declared_size

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial, independent of the other trials."""
        return {
            trial.name: HurdleDecision(trial.value is not None, trial.value, None) for trial in population.waiting
        }
