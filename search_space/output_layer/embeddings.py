"""The embedding table as output layer. GPT: Radford et al. 2018, eq. 2; with biases XLNet, arXiv 1906.08237."""

from collections.abc import Iterator
from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role
from search_space.output_layer.option import OutputLayerOption, own_map_missing


class EmbeddingTable(OutputLayerOption):
    """The logit of a token is the product of the hidden state with the token's embedding; a bias at most."""

    kind: Literal["embeddings"] = "embeddings"
    """Chooses the embedding table alone."""
    biases: bool = False
    """Whether a bias per token is added, as in XLNet."""

    def component(self, architecture: Architecture) -> Component:
        """Return the product with the table."""
        vocabulary = architecture.vocabulary_size
        operations = Operations(
            multiply_adds=architecture.embedding_width * vocabulary, softmaxed=vocabulary, lookups=vocabulary
        )
        parameters = vocabulary if self.biases else 0
        shape = architecture.attention_shape
        return Component(Role.VOCABULARY, shape, parameters, operations, applied_to="prediction")

    def mistakes(self, architecture: Architecture) -> Iterator[str]:
        """Yield that the widths differ."""
        yield from own_map_missing(architecture)
