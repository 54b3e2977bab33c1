"""Word structural objective: put shuffled words back in order. Wang et al. 2019 (StructBERT), arXiv 1908.04577."""

import math
from typing import Literal

from pydantic import Field

from search_space.objective.auxiliary_loss import AuxiliaryLoss
from steeplechase.foundation.schema import PositiveNumber


class WordStructure(AuxiliaryLoss):
    """Masked language modelling, and the original tokens of shuffled runs that are not masked, by the same head."""

    kind: Literal["word_structure"] = "word_structure"
    """Chooses the word structural objective beside masked language modelling."""
    shuffle_rate: float = Field(default=0.05, gt=0, lt=1)
    """Share of the tokens that are not masked that is shuffled. Default: StructBERT."""
    shuffled_together: int = Field(default=3, ge=2, le=10)
    """K: adjacent tokens that are permuted; all permutations are equally likely, the identity included."""
    word_structure_weight: PositiveNumber = 1.0
    """Weight of the loss at shuffled tokens in the sum of both losses."""

    @property
    def weight(self) -> float:
        """The weight of the loss at shuffled tokens."""
        return self.word_structure_weight

    def further_predictions(self, others: int) -> int:
        """Return the number of shuffled tokens."""
        return math.ceil(self.shuffle_rate * others)
