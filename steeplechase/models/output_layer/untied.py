"""A linear map to the vocabulary with weights of its own; the embedding table is not read."""

from jaxtyping import Float
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.output_layer.option import OutputLayerOption
from steeplechase.models.heads.output_head import ProductHead, Products
from steeplechase.models.output_layer import OutputHead


class Head(ProductHead):
    """A weight per channel and token, and a bias per token."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.words = nn.Linear(architecture.width, architecture.vocabulary_size)

    def products(self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]) -> Products:
        """Return the hidden states and the map's own weights."""
        return x, self.words.weight, self.words.bias


def build(option: OutputLayerOption, architecture: Architecture) -> OutputHead:
    """Return the head with an output table of its own."""
    return Head(architecture)
