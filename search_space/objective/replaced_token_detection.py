"""Replaced token detection: find the tokens that a small generator replaced. Clark et al. 2020, arXiv 2003.10555."""

from typing import Literal

from foundation.schema import Count, PositiveNumber
from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.masked_language_model import MaskedLanguageModel, vocabulary_head
from search_space.objective.masking import Masking
from search_space.shape import linear_parameters

GENERATOR = "generator"


class ReplacedTokenDetection(Masking):
    """A generator samples tokens at the masked positions; the discriminator classifies every token."""

    kind: Literal["replaced_token_detection"] = "replaced_token_detection"
    """Chooses replaced token detection, with a generator beside the encoder."""
    generator: Literal["baseline", "own"] = "baseline"
    """`baseline`: every arm trains with the baseline's generator, so that only the encoder differs.
    `own`: the generator is built like the arm, as the paper does (ConvBERT's release)."""
    generator_ratio: Count = 4
    """By how much the generator is narrower than its model. Default: ELECTRA-Small; base models use 3."""
    generator_weight: PositiveNumber = 1.0
    """Weight of the generator's loss in the sum of both losses."""
    discriminator_weight: PositiveNumber = 50.0
    """Weight of the discriminator's loss in the sum: λ of ELECTRA, arXiv 2003.10555, section 3.1."""

    @property
    def description(self) -> str:
        """The share of predicted tokens, the generator's size and the weights of both losses."""
        owner = "the baseline's" if self.generator == "baseline" else "the arm's own"
        weights = f"{self.generator_weight:g} and {self.discriminator_weight:g}"
        return f"{super().description}, generator 1/{self.generator_ratio} of {owner} size, losses weighed {weights}"

    @property
    def reference(self) -> MaskedLanguageModel:
        """Masked language modelling with the same masks, by which the reference generator is trained."""
        return MaskedLanguageModel(**self.masking_fields)

    def generator_of(self, architecture: Architecture, baseline: Architecture) -> Architecture | None:
        """Return the generator that corrupts the input; it shares the encoder's embeddings."""
        model = baseline if self.generator == "baseline" else architecture
        return model.shrunk(self.generator_ratio).with_embeddings_of(architecture)

    def reference_generator(self, baseline: Architecture) -> Architecture:
        """Return the baseline's generator."""
        return baseline.shrunk(self.generator_ratio)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return what pretraining adds and fine-tuning drops: the discriminator head, the generator and its head."""
        discriminator = discriminator_head(architecture)
        if generator is None:
            return (discriminator,)
        parts = [part.of(GENERATOR, part.role is Role.EMBEDDINGS) for part in generator.parts(length)]
        return (discriminator, *parts, vocabulary_head(generator).of(GENERATOR, shared=False))


def discriminator_head(architecture: Architecture) -> Component:
    """Return a linear map, GELU, and a map to one logit, for whose bias ELECTRA's script counts no operation."""
    width = architecture.width
    parameters = linear_parameters(width, width) + linear_parameters(width, 1)
    operations = linear(width, width) + Operations(gelus=width, multiply_adds=width)
    return Component(Role.DISCRIMINATOR, architecture.attention_shape, parameters, operations)
