"""Heads at predicted positions: of masked language modelling (BERT, ELECTRA's generator), and of span boundaries."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from search_space.architecture import Architecture
from steeplechase.models.heads.output_head import ProductHead, Products
from steeplechase.models.kernels.residual_norm import norm_alone
from steeplechase.models.kernels.vocabulary_cross_entropy import vocabulary_cross_entropy
from steeplechase.models.norm import norm_of


class MaskedLanguageModelHead(ProductHead):
    """A linear map to the embedding width, GELU, layer norm, then the tied embedding table with a bias per token."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.transform = nn.Linear(architecture.width, architecture.embedding_width)
        self.norm = norm_of(architecture.normalisation, architecture.embedding_width)
        self.words = TokenBias(architecture.vocabulary_size)

    def products(self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]) -> Products:
        """Return the transformed vectors, the table and the biases."""
        return self.embedded(x), table, self.words.bias

    def embedded(self, x: Float[Tensor, "predicted width"]) -> Float[Tensor, "predicted embedding"]:
        """Return the vectors whose products with the embedding table are the logits, without biases."""
        return norm_alone(gelu(self.transform(x)), self.norm)


def gather_masked(
    x: Float[Tensor, "batch seq width"], positions: Int[Tensor, "batch predictions"]
) -> Float[Tensor, "predicted width"]:
    """Return the vectors at the given positions, row by row; predicted = batch x predictions."""
    batch, seq, _ = x.shape
    first = torch.arange(0, batch * seq, seq, device=x.device)
    return x.flatten(0, 1).index_select(0, (positions + first[:, None]).flatten())


class TokenBias(nn.Module):
    """One bias per token of the vocabulary, initially zero."""

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(vocabulary_size))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Set the bias to zero; nothing is drawn from the generator."""
        nn.init.zeros_(self.bias)


class SpanBoundaryHead(nn.Module):
    """Two linear maps, each with GELU and layer norm, on the vectors beside a span and a position inside it.

    The output layer is the tied embedding table, with a bias of its own.

    Joshi et al. 2019 (SpanBERT), arXiv 1907.10529, section 3.2.
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
