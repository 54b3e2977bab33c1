"""All-Tokens MLM: predict or copy every token of an input that a generator corrupted. ELECTRA (Clark et al. 2020)."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role
from search_space.objective.replaced_tokens import ReplacedTokens
from search_space.output_layer.transformed import vocabulary_head
from search_space.shape import linear_parameters
from steeplechase.foundation.schema import PositiveNumber


class AllTokensMaskedLanguageModel(ReplacedTokens):
    """Cross-entropy of the original token at every position, as a mixture of the input token and a softmax.

    A sigmoid gives the probability of the input token (copy mechanism). The weight of the discriminator is that of
    the encoder's own loss. The held-out loss is that of `replace_masked_language_model`: the mixture's loss at the
    tokens that the reference generator sampled.
    """

    kind: Literal["all_tokens_masked_language_model"] = "all_tokens_masked_language_model"
    """Chooses masked language modelling over all tokens, on the samples of a generator."""
    discriminator_weight: PositiveNumber = 1.0
    """Weight of the encoder's own loss in the sum of both losses."""

    @property
    def has_discriminator(self) -> bool:
        """No: the encoder predicts tokens."""
        return False

    @property
    def evaluation(self) -> str:
        """That of Replace MLM, whose predictions are part of these."""
        return "replace_masked_language_model"

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head and the copy head, both at every token, the generator and its head."""
        words = vocabulary_head(architecture, applied_to="token")
        return words, copy_head(architecture), *self.generator_parts(generator, length)


def copy_head(architecture: Architecture) -> Component:
    """Return a map to one logit with its sigmoid; as for the discriminator's, no operation counts for its bias."""
    operations = Operations(multiply_adds=architecture.width, sigmoids=1)
    return Component(Role.COPY, architecture.attention_shape, linear_parameters(architecture.width, 1), operations)
