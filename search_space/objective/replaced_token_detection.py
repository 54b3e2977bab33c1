"""Replaced token detection: say which tokens a small generator has put in. Clark et al. 2020, arXiv 2003.10555."""

from typing import Literal

from foundation.schema import Count, PositiveNumber
from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.masked_language_model import vocabulary_head
from search_space.objective.masking import Masking
from search_space.shape import linear_parameters

GENERATOR = "generator"


class ReplacedTokenDetection(Masking):
    """A generator fills the covered positions; the encoder judges every real token."""

    kind: Literal["replaced_token_detection"] = "replaced_token_detection"
    """Chooses replaced token detection, with a generator beside the encoder."""
    generator: Literal["baseline", "own"] = "baseline"
    """`baseline`: every arm meets the baseline's generator, so that only the encoder differs.
    `own`: the generator is built like the arm, as the paper does (ConvBERT's release)."""
    generator_ratio: Count = 4
    """By how much the generator is narrower than its model. Default: ELECTRA-Small; base models use 3."""
    generator_weight: PositiveNumber = 1.0
    """Weight of the generator's loss in the sum of both losses."""
    discriminator_weight: PositiveNumber = 50.0
    """Weight of the discriminator's loss in the sum: λ of ELECTRA, arXiv 2003.10555, section 3.1."""

    def generator_of(self, architecture: Architecture, baseline: Architecture) -> Architecture | None:
        """Return the generator that corrupts the input; its embeddings are those of the encoder."""
        model = baseline if self.generator == "baseline" else architecture
        return model.shrunk(self.generator_ratio).with_embeddings_of(architecture)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return what pretraining adds and fine-tuning drops: the judge, the generator and its head."""
        judge = judge_head(architecture)
        if generator is None:
            return (judge,)
        parts = [part.of(GENERATOR, part.role is Role.EMBEDDINGS) for part in generator.parts(length)]
        return (judge, *parts, vocabulary_head(generator).of(GENERATOR, shared=False))


def judge_head(architecture: Architecture) -> Component:
    """Return a map of the width, GELU, and one number per token, whose bias ELECTRA's script does not charge."""
    width = architecture.width
    parameters = linear_parameters(width, width) + linear_parameters(width, 1)
    operations = linear(width, width) + Operations(gelus=width, multiply_adds=width)
    return Component(Role.JUDGE, architecture.attention_shape, parameters, operations)
