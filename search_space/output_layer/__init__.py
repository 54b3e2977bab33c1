"""The output layer of a language model, from hidden states to the vocabulary: one file per option."""

from typing import Annotated

from search_space.output_layer.adaptive import AdaptiveSoftmax
from search_space.output_layer.embeddings import EmbeddingTable
from search_space.output_layer.option import OutputLayerOption
from search_space.output_layer.transformed import Transformed
from steeplechase.foundation.schema import OPTION

OutputLayer = Annotated[OutputLayerOption, OPTION]

__all__ = ["AdaptiveSoftmax", "EmbeddingTable", "OutputLayer", "OutputLayerOption", "Transformed"]
