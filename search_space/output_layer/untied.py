"""An output table of its own, beside the embeddings: Press and Wolf 2016, arXiv 1608.05859; NeoBERT, 2502.19587."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.output_layer.option import OutputLayerOption
from search_space.shape import linear_parameters


class Untied(OutputLayerOption):
    """The logits are a linear map of the hidden state with a bias per token; embeddings are of inputs alone."""

    kind: Literal["untied"] = "untied"
    """Chooses a table that is not the embedding table."""

    def component(self, architecture: Architecture) -> Component:
        """Return the map from the width to the vocabulary, as NeoBERT has it."""
        width, vocabulary = architecture.width, architecture.vocabulary_size
        operations = linear(width, vocabulary) + Operations(softmaxed=vocabulary, lookups=vocabulary)
        parameters, shape = linear_parameters(width, vocabulary), architecture.attention_shape
        return Component(Role.VOCABULARY, shape, parameters, operations, applied_to="prediction")
