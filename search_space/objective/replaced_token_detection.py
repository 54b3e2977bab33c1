"""Replaced token detection: say which tokens a small generator has put in. Clark et al. 2020, arXiv 2003.10555."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.declaration import Count, PositiveNumber
from search_space.objective.masked_language_model import vocabulary_head_flops, vocabulary_head_parameters
from search_space.objective.masking import Masking
from search_space.shape import linear_flops, linear_parameters


class ReplacedTokenDetection(Masking):
    """A generator fills the covered positions; the encoder judges every real token."""

    kind: Literal["replaced_token_detection"] = "replaced_token_detection"
    generator: Literal["shared", "follows"] = "shared"
    """`shared`: every arm meets the baseline's generator, so that only the encoder differs.
    `follows`: the generator is built like the arm, as the paper does (ConvBERT's release)."""
    generator_ratio: Count = 4  # ELECTRA-Small; base uses 3
    generator_weight: PositiveNumber = 1.0
    discriminator_weight: PositiveNumber = 50.0  # lambda, ELECTRA section 3.1

    def generator_of(self, architecture: Architecture, baseline: Architecture) -> Architecture | None:
        """Return the generator that corrupts the input; its embeddings are those of the encoder."""
        model = baseline if self.generator == "shared" else architecture
        return model.shrunk(self.generator_ratio).with_embeddings_of(architecture)

    def head_parameters(self, architecture: Architecture, generator: Architecture | None) -> int:
        """Return the values that pretraining adds to the encoder and fine-tuning drops."""
        judge = linear_parameters(architecture.width, architecture.width) + linear_parameters(architecture.width, 1)
        if generator is None:
            return judge
        own = generator.parameters - generator.embedding_parameters
        if generator.embedding_width != generator.width:
            own += linear_parameters(generator.embedding_width, generator.width)
        return judge + own + vocabulary_head_parameters(generator)

    def forward_flops(self, architecture: Architecture, generator: Architecture | None, length: int) -> int:
        """Return the operations of one pretraining forward pass over a sequence of `length` tokens."""
        judge = length * (linear_flops(architecture.width, architecture.width) + linear_flops(architecture.width, 1))
        corrupt = 0
        if generator is not None:
            head = self.predictions(length) * vocabulary_head_flops(generator)
            corrupt = generator.forward_flops(length) + head
        return architecture.forward_flops(length) + judge + corrupt
