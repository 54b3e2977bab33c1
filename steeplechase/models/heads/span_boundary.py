"""The head of the span boundary objective. Joshi et al. 2019 (SpanBERT), arXiv 1907.10529, section 3.2."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from search_space.architecture import Architecture
from steeplechase.models.heads.masked_language_model import TokenBias
from steeplechase.models.kernels.vocabulary_cross_entropy import vocabulary_cross_entropy
from steeplechase.models.norm import norm_of


class SpanBoundaryHead(nn.Module):
    """Two linear maps, each with GELU and layer norm, on the vectors beside a span and a position inside it.

    The output layer is the tied embedding table, with a bias of its own.
    """

    def __init__(self, architecture: Architecture, span_positions: int, position_width: int) -> None:
        super().__init__()
        width, embedding_width = architecture.width, architecture.embedding_width
        self.positions = nn.Embedding(span_positions, position_width)
        self.inner = nn.Linear(2 * width + position_width, width)
        self.inner_norm = norm_of(architecture.normalisation, width)
        self.transform = nn.Linear(width, embedding_width)
        self.norm = norm_of(architecture.normalisation, embedding_width)
        self.words = TokenBias(architecture.vocabulary_size)

    def forward(
        self,
        left: Float[Tensor, "predicted width"],
        right: Float[Tensor, "predicted width"],
        offsets: Int[Tensor, " predicted"],
        table: Float[Tensor, "vocab embedding"],
    ) -> Float[Tensor, "predicted vocab"]:
        """Return logits over the vocabulary; offsets count the tokens of a span from 0."""
        return linear(self._embedded(left, right, offsets), table, self.words.bias)

    def loss(
        self,
        boundaries: tuple[Float[Tensor, "predicted width"], Float[Tensor, "predicted width"]],
        offsets: Int[Tensor, " predicted"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats."""
        embedded = self._embedded(*boundaries, offsets)
        loss, _ = vocabulary_cross_entropy(embedded, table, self.words.bias, targets)
        return loss

    def _embedded(self, left: Tensor, right: Tensor, offsets: Tensor) -> Tensor:
        x = torch.cat([left, right, self.positions(offsets)], dim=-1)
        x = self.inner_norm(gelu(self.inner(x)))
        embedded: Tensor = self.norm(gelu(self.transform(x)))
        return embedded
