"""What hurdles at marks have in common: where they stand, and which value is looked at there."""

from pydantic import Field

from search_space.declaration import Count, Declaration, Seed


class Probe(Declaration):
    """A quick fine-tuning at every mark, whose score is judged in place of the held-out loss."""

    task: str = Field(examples=["docs_pair"])
    seed: Seed = 1


class Marked(Declaration):
    """Hurdles at token marks; equal tokens and equal phases of the schedule are compared."""

    marks: tuple[Count, ...] = Field(min_length=1, examples=[[500000, 1000000]])
    probe: Probe | None = None

    @property
    def token_marks(self) -> tuple[int, ...]:
        """Where the hurdles stand, in tokens."""
        return self.marks

    def cohort_size(self, number: int, asked: int) -> int:
        """Return how many candidates cohort `number` is to have where the design asks for so many."""
        return asked
