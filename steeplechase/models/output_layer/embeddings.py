"""The embedding table as output layer: products alone as in GPT, or with a bias per token as in XLNet."""

from jaxtyping import Float, Int
from torch import Tensor

from search_space.architecture import Architecture
from search_space.output_layer import EmbeddingTable
from steeplechase.models.heads.masked_language_model import TokenBias
from steeplechase.models.kernels.vocabulary_cross_entropy import Uniforms, vocabulary_cross_entropy, vocabulary_logits
from steeplechase.models.output_layer import OutputHead


class Head(OutputHead):
    """No parameters but the biases."""

    def __init__(self, words: TokenBias | None) -> None:
        super().__init__()
        self.words = words

    def forward(
        self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return the product of every vector with every embedding."""
        return vocabulary_logits(x, table, None if self.words is None else self.words.bias)

    def loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the mean cross-entropy in nats, and tokens sampled at the uniform numbers."""
        bias = table.new_zeros(len(table)) if self.words is None else self.words.bias
        return vocabulary_cross_entropy(x, table, bias, targets, uniforms)


def build(option: EmbeddingTable, architecture: Architecture) -> OutputHead:
    """Return the head."""
    return Head(TokenBias(architecture.vocabulary_size) if option.biases else None)
