"""Denoising: an encoder reads a corrupted text and a decoder writes what was hidden. BART, arXiv 1910.13461, 2.

The corruption decides what the decoder writes: the whole text (BART), a fragment of it (MASS, arXiv 1905.02450), or
masked tokens alone.
"""

from typing import Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.corruption import Corruption, TextInfilling
from search_space.cost import Component
from search_space.objective.pretraining_objective import PretrainingObjective


class Denoising(PretrainingObjective):
    """Cross-entropy of every token of the target given the source and the target's earlier tokens."""

    kind: Literal["denoising"] = "denoising"
    """Chooses denoising, for architectures of kind encoder_decoder."""
    corruption: Corruption = Field(default_factory=TextInfilling)
    """How the source is made of the text, and which tokens are the target. Default: BART's text infilling."""

    @property
    def name(self) -> str:
        """The kind with its corruption."""
        return f"denoising by {self.corruption.kind.replace('_', ' ')}"

    @property
    def evaluation(self) -> str:
        """The kind for text infilling; behind a dot, another corruption, whose loss is comparable with no other's."""
        corruption = self.corruption.evaluation
        return self.kind if corruption == TextInfilling().evaluation else f"{self.kind}.{corruption}"

    @property
    def corrupts_at_random(self) -> bool:
        """Whether the corruption is random."""
        return self.corruption.is_random

    @property
    def writes_target(self) -> bool:
        """Yes: a decoder predicts it."""
        return True

    def predictions(self, length: int) -> int:
        """Return the number of predicted tokens of a sequence."""
        return self.corruption.predictions(length - 2)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return nothing: the output layer belongs to the architecture, because fine-tuning keeps it."""
        return ()
