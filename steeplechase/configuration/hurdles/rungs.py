"""What hurdles share: the value that is compared, and of hurdles at rungs their token counts."""

from collections.abc import Sequence

from pydantic import Field

from steeplechase.foundation.schema import Count, Schema, Seed


class Probe(Schema):
    """A short fine-tuning at every rung, whose score is compared in place of the held-out loss."""

    task: str = Field(examples=["docs_pair"])
    """The downstream task that is fine-tuned on at every rung."""
    seed: Seed = 1
    """Seed of these fine-tunings."""


class WithoutProbe(Schema):
    """Hurdles that fine-tune nothing; unless they say otherwise, the held-out loss is compared, at no rung."""

    @property
    def probe(self) -> Probe | None:
        """None: nothing is fine-tuned before the end."""
        return None

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values pass: losses are smaller for better trials."""
        return False

    @property
    def compared(self) -> str:
        """What is compared, for reports: the held-out loss."""
        return "loss"

    def rungs_of(self, tokens: int) -> tuple[int, ...]:
        """Empty: no rung before the end."""
        return ()

    def cohort_size(self, number: int, declared_size: int) -> int:
        """Return the size of cohort `number`, given the size in the design."""
        return declared_size

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each cohort that can finish, whatever their values, without ties."""
        return tuple(cohorts)


class Rungs(Schema):
    """Hurdles at token rungs; equal tokens and equal phases of the schedule are compared."""

    rungs: tuple[Count, ...] = Field(min_length=1, examples=[[500000, 1000000]])
    """Token counts at which trials are compared, strictly increasing, each below the pretraining budget."""
    probe: Probe | None = None
    """Compare the score of a short fine-tuning in place of the held-out loss."""

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values pass: scores of a probe are larger for better trials, losses smaller."""
        return self.probe is not None

    @property
    def compared(self) -> str:
        """What is compared, for reports: the score of a probe, or the held-out loss."""
        return "loss" if self.probe is None else "score"

    def rungs_of(self, tokens: int) -> tuple[int, ...]:
        """Return the token counts of the rungs of a training of so many tokens."""
        return self.rungs

    def cohort_size(self, number: int, declared_size: int) -> int:
        """Return the size of cohort `number`, given the size in the design."""
        return declared_size

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each cohort that can finish, whatever their values, without ties."""
        return tuple(cohorts)
