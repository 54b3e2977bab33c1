"""Replace MLM: predict the tokens that a generator replaced. Clark et al. 2020 (ELECTRA), arXiv 2003.10555, 3.4."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Component
from search_space.objective.replaced_tokens import ReplacedTokens
from search_space.output_layer.transformed import vocabulary_head
from steeplechase.foundation.schema import PositiveNumber


class ReplaceMaskedLanguageModel(ReplacedTokens):
    """Masked language modelling with a generator's samples in place of [MASK]; original tokens are predicted there.

    The weight of the discriminator is that of the encoder's own loss. The held-out loss is measured on inputs that
    the reference generator corrupted, so it is not comparable with that of masked language modelling.
    """

    kind: Literal["replace_masked_language_model"] = "replace_masked_language_model"
    """Chooses masked language modelling on the samples of a generator."""
    discriminator_weight: PositiveNumber = 1.0
    """Weight of the encoder's own loss in the sum of both losses."""

    @property
    def has_discriminator(self) -> bool:
        """No: the encoder predicts tokens."""
        return False

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head, the generator and its head."""
        return vocabulary_head(architecture), *self.generator_parts(generator, length)
