"""Masked language modelling: predict the covered tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.masking import Masking
from search_space.shape import layer_norm_parameters, linear_parameters


class MaskedLanguageModel(Masking):
    """Cross-entropy at the predicted positions; the output table is the embedding table."""

    kind: Literal["masked_language_model"] = "masked_language_model"
    """Chooses masked language modelling."""

    def generator_of(self, architecture: Architecture, baseline: Architecture) -> Architecture | None:
        """Return the generator that corrupts the input: none, masks suffice."""
        return None

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return what pretraining adds to the encoder and fine-tuning drops."""
        return (vocabulary_head(architecture),)


def vocabulary_head(architecture: Architecture) -> Component:
    """Return the map to the embedding width, GELU, a normalisation, and the table of words, which is shared.

    The table's biases are parameters; ELECTRA's script charges no operation for them.
    """
    width, embedding_width, words = architecture.width, architecture.embedding_width, architecture.vocabulary_size
    parameters = linear_parameters(width, embedding_width) + layer_norm_parameters(embedding_width) + words
    transform = linear(width, embedding_width) + Operations(gelus=embedding_width, normalised=embedding_width)
    loss = Operations(softmaxed=words, lookups=words)  # the right word is looked up
    logits = Operations(multiply_adds=embedding_width * words)
    return Component(Role.VOCABULARY, architecture.attention_shape, parameters, transform + logits + loss)
