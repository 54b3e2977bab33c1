"""BERT's output layer: a linear map, GELU, layer norm, then the embedding table. Devlin et al. 2018, 1810.04805."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Applied, Component, Operations, Role, linear
from search_space.norm import norm_parameters
from search_space.output_layer.option import OutputLayerOption
from search_space.shape import linear_parameters


class Transformed(OutputLayerOption):
    """A map to the embedding width, GELU, layer norm, the embedding table, and a bias per token."""

    kind: Literal["transformed"] = "transformed"
    """Chooses BERT's output layer."""

    def component(self, architecture: Architecture) -> Component:
        """Return the costs of masked language modelling's head."""
        return vocabulary_head(architecture)


def vocabulary_head(architecture: Architecture, applied_to: Applied = "prediction") -> Component:
    """Return a linear map to the embedding width, GELU, layer norm, and the tied token table.

    The biases of the table are counted as parameters; ELECTRA's script counts no operations for them.
    """
    width, embedding_width, vocabulary = (
        architecture.width,
        architecture.embedding_width,
        architecture.vocabulary_size,
    )
    norm = norm_parameters(architecture.norm, embedding_width)
    parameters = linear_parameters(width, embedding_width) + norm + vocabulary
    transform = linear(width, embedding_width) + Operations(gelus=embedding_width, normalised=embedding_width)
    loss = Operations(softmaxed=vocabulary, lookups=vocabulary)  # lookup of the target
    logits = Operations(multiply_adds=embedding_width * vocabulary)
    operations = transform + logits + loss
    return Component(Role.VOCABULARY, architecture.attention_shape, parameters, operations, applied_to=applied_to)
