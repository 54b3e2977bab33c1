"""The embedding table as output layer: products alone as in GPT, or with a bias per token as in XLNet."""

from jaxtyping import Float
from torch import Tensor

from search_space.architecture import Architecture
from search_space.output_layer import EmbeddingTable
from steeplechase.models.heads.masked_language_model import TokenBias
from steeplechase.models.heads.output_head import ProductHead, Products
from steeplechase.models.output_layer import OutputHead


class Head(ProductHead):
    """No parameters but the biases."""

    def __init__(self, words: TokenBias | None) -> None:
        super().__init__()
        self.words = words

    def products(self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]) -> Products:
        """Return the hidden states, the table and the biases."""
        return x, table, None if self.words is None else self.words.bias


def build(option: EmbeddingTable, architecture: Architecture) -> OutputHead:
    """Return the head that multiplies hidden states by the token embeddings, with biases if the option has them."""
    return Head(TokenBias(architecture.vocabulary_size) if option.biases else None)
