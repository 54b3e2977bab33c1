"""What hurdles share: the compared value, the token counts of rungs; and the hurdles that compare no trials."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from steeplechase.configuration.hurdles.population import HurdleDecision, Population
from steeplechase.foundation.schema import Count, JsonValue, OpenOption, Schema, Seed


class Probe(Schema):
    """A short fine-tuning at every rung, whose score is compared in place of the held-out loss."""

    task: str = Field(examples=["docs_pair"])
    """The downstream task that is fine-tuned on at every rung."""
    seed: Seed = 1
    """Seed of these fine-tunings."""


class Hurdle(OpenOption):
    """A rule for early stopping. Unless a hurdle says otherwise, it has no rung and fine-tunes nothing."""

    package: ClassVar[str] = "steeplechase.configuration.hurdles"

    @property
    def rung_probe(self) -> Probe | None:
        """The fine-tuning at every rung whose score is compared; None: the held-out loss is."""
        return None

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values pass: scores of a probe are larger for better trials, losses smaller."""
        return self.rung_probe is not None

    @property
    def compared(self) -> str:
        """What is compared, for reports: the score of a probe, or the held-out loss."""
        return "score" if self.larger_is_better else "loss"

    @property
    def fixes_thresholds(self) -> bool:
        """Whether trials that arrive later are compared with the threshold that was set, and not with a new one."""
        return False

    def rungs_of(self, tokens: int) -> tuple[int, ...]:
        """Return the token counts of the rungs of a training of so many tokens."""
        return ()

    def cohort_size(self, number: int, declared_size: int) -> int:
        """Return the size of cohort `number`, given the size in the design."""
        return declared_size

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each cohort that can finish, whatever their values, without ties."""
        return tuple(cohorts)

    @abstractmethod
    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions on waiting trials, a pure function; a trial without one waits on."""


class Rungs(Hurdle):
    """Hurdles at token rungs; equal tokens and equal phases of the schedule are compared."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({"rungs": [1, 2]},)
    rungs: tuple[Count, ...] = Field(min_length=1, examples=[[500000, 1000000]])
    """Token counts at which trials are compared, strictly increasing, each below the pretraining budget."""
    probe: Probe | None = None
    """Compare the score of a short fine-tuning in place of the held-out loss."""

    @property
    def rung_probe(self) -> Probe | None:
        """The declared probe."""
        return self.probe

    def rungs_of(self, tokens: int) -> tuple[int, ...]:
        """Return the declared rungs."""
        return self.rungs


class Finite(Hurdle):
    """Stops diverged trials only; the declared rows of a table always train to the end."""

    kind: Literal["finite"] = "finite"
    """Chooses the hurdle that stops diverged trials only."""

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial, independent of the other trials."""
        return {
            trial.name: HurdleDecision(trial.value is not None, trial.value, None) for trial in population.waiting
        }


class Pause(Hurdle):
    """Token rungs at which trials pause until `design.policy` continues them; diverged trials stop."""

    kind: Literal["pause"] = "pause"
    """Chooses pauses, at which `design.policy` decides."""
    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({"rungs": [1, 2]},)
    rungs: tuple[Count, ...] = Field(min_length=1, examples=[[500000, 1000000]])
    """Token counts at which trials pause, strictly increasing, each below the pretraining budget."""

    def rungs_of(self, tokens: int) -> tuple[int, ...]:
        """Return the token counts of the rungs of a training."""
        return self.rungs

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a stop for every waiting trial without a finite value; the others wait for the policy."""
        return {trial.name: HurdleDecision(False, None, None) for trial in population.waiting if trial.value is None}
