"""What hurdles at rungs have in common: where they stand, and which value is looked at there."""

from pydantic import Field

from foundation.schema import Count, Schema, Seed


class Probe(Schema):
    """A quick fine-tuning at every mark, whose score is judged in place of the held-out loss."""

    task: str = Field(examples=["docs_pair"])
    """The downstream task that is fine-tuned on at every mark."""
    seed: Seed = 1
    """Seed of these fine-tunings."""


class Rungs(Schema):
    """Hurdles at token rungs; equal tokens and equal phases of the schedule are compared."""

    rungs: tuple[Count, ...] = Field(min_length=1, examples=[[500000, 1000000]])
    """Tokens at which trials are judged, rising, each before the end of pretraining."""
    probe: Probe | None = None
    """Judge by a quick fine-tuning in place of the held-out loss."""

    @property
    def rung_tokens(self) -> tuple[int, ...]:
        """Where the hurdles stand, in tokens."""
        return self.rungs

    def cohort_size(self, number: int, asked: int) -> int:
        """Return how many candidates cohort `number` is to have where the design asks for so many."""
        return asked
