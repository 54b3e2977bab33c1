"""The head of masked language modelling, for the predicted positions only. BERT and ELECTRA's generator."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu

from search_space.architecture import Architecture
from steeplechase.models.kernels.residual_norm import norm_alone
from steeplechase.models.kernels.vocabulary_cross_entropy import Uniforms, vocabulary_cross_entropy
from steeplechase.models.kernels.vocabulary_logits import vocabulary_logits
from steeplechase.models.norm import norm_of


class MaskedLanguageModelHead(nn.Module):
    """A linear map to the embedding width, GELU, layer norm, then the tied embedding table with a bias per token."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.transform = nn.Linear(architecture.width, architecture.embedding_width)
        self.norm = norm_of(architecture.normalisation, architecture.embedding_width)
        self.words = TokenBias(architecture.vocabulary_size)

    def forward(
        self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return logits over the vocabulary."""
        return vocabulary_logits(self.embedded(x), table, self.words.bias)

    def loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the mean cross-entropy in nats, and tokens sampled at the uniform numbers."""
        return vocabulary_cross_entropy(self.embedded(x), table, self.words.bias, targets, uniforms)

    def embedded(self, x: Float[Tensor, "predicted width"]) -> Float[Tensor, "predicted embedding"]:
        """Return the vectors whose products with the embedding table are the logits, without biases."""
        return norm_alone(gelu(self.transform(x)), self.norm)


def gather_masked(
    x: Float[Tensor, "batch seq width"], positions: Int[Tensor, "batch predictions"]
) -> Float[Tensor, "predicted width"]:
    """Return the vectors at the given positions, row by row; predicted = batch x predictions."""
    return x.gather(1, positions[..., None].expand(-1, -1, x.shape[-1])).flatten(0, 1)


class TokenBias(nn.Module):
    """One bias per token of the vocabulary, initially zero."""

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(vocabulary_size))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Set the bias to zero; nothing is drawn from the generator."""
        nn.init.zeros_(self.bias)
