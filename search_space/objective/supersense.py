"""Supersense prediction beside masked language modelling. Levine et al. 2019 (SenseBERT), arXiv 1908.05646."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role
from search_space.objective.auxiliary_loss import AuxiliaryLoss
from search_space.selection import Selection, WholeWord
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import PositiveNumber, Share


class Supersense(AuxiliaryLoss):
    """Masked words, and the supersenses that the lexicon allows each of them, from the same transformed vector.

    The loss of a masked word w with allowed supersenses A is -log Σ p(s) - Σ log p(s) / |A|, both sums over A: any
    allowed supersense, and the regularisation towards all of them. Words without allowed supersenses have no loss.
    """

    kind: Literal["supersense"] = "supersense"
    """Chooses supersense prediction beside masked language modelling."""
    selection: Selection = Field(default_factory=WholeWord)
    """Which of the other tokens are predicted: whole words, as SenseBERT masks words that are several tokens."""
    single_sense_budget: Share = 0.4
    """Largest share of the predicted tokens that are words of one supersense: these are selected first, and no other
    ones of them after. 0: no words are preferred. Default, as for `single_sense_words`: SenseBERT, section 3."""
    single_sense_words: Share = 0.5
    """Largest share of a sequence's words of one supersense that is selected."""
    supersense_weight: PositiveNumber = 1.0
    """Weight of the loss on the supersenses of masked words in the sum of both losses."""

    @property
    def description(self) -> str:
        """The masks, and how far words of one supersense are preferred."""
        preferred = f"words of one supersense up to {self.single_sense_budget:.0%} of them"
        return f"{super().description}, {preferred}" if self.single_sense_budget else super().description

    @property
    def weight(self) -> float:
        """The weight of the loss on supersenses."""
        return self.supersense_weight

    def own_parts(self, architecture: Architecture) -> tuple[Component, ...]:
        """Return the supersenses' output layer, which is the table of their embeddings."""
        return (supersense_layer(architecture),)

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield that the architecture has no supersense embeddings, which are the output layer."""
        if not architecture.supersenses:
            reason = "it predicts by the table of supersense embeddings"
            message = f"0 with objective {self.kind}; {reason}. Did you mean 45, WordNet's?"
            yield Violation(("architecture", "supersenses"), message)


def supersense_layer(architecture: Architecture) -> Component:
    """Return the product with the supersense embeddings and its softmax; it adds no parameters."""
    supersenses = architecture.supersenses
    operations = Operations(multiply_adds=architecture.embedding_width * supersenses, softmaxed=supersenses)
    return Component(Role.SUPERSENSES, architecture.attention_shape, 0, operations, applied_to="prediction")
