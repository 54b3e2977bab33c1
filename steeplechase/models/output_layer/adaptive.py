"""Adaptive softmax over the embedding table. Grave et al. 2016, arXiv 1609.04309; Transformer-XL, arXiv 1901.02860.

The probability of a token below the first cutoff is one of the head's softmax; that of another is its cluster's in
the head times its own in the cluster's softmax.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from search_space.architecture import Architecture
from search_space.output_layer import AdaptiveSoftmax
from steeplechase.models.heads.masked_language_model import TokenBias
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.kernels.vocabulary_cross_entropy import Uniforms, sample_tokens, vocabulary_logits
from steeplechase.models.output_layer import OutputHead
from steeplechase.models.precision import to_float32


class Head(OutputHead):
    """A bias per token, and a vector with a bias per cluster."""

    def __init__(self, option: AdaptiveSoftmax, architecture: Architecture) -> None:
        super().__init__()
        self.bounds = (*option.cutoffs, architecture.vocabulary_size)
        self.words = TokenBias(architecture.vocabulary_size)
        self.cluster_weight = nn.Parameter(torch.empty(len(option.cutoffs), architecture.embedding_width))
        self.cluster_bias = nn.Parameter(torch.empty(len(option.cutoffs)))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise the clusters like a linear map, the biases to zero."""
        truncated_normal(self.cluster_weight, generator)
        nn.init.zeros_(self.cluster_bias)

    def forward(
        self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return the log-probabilities of all tokens."""
        head = self._head(x, table)
        first = self.bounds[0]
        tails = [
            head[:, first + number, None] + self._tail(number, x, table) for number in range(len(self.bounds) - 1)
        ]
        return torch.cat([head[:, :first], *tails], 1)

    def loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the mean cross-entropy in nats; only the clusters of the targets are computed, unless it samples."""
        groups = [torch.from_numpy(each).to(x.device) for each in self.groups(targets.cpu().numpy())]
        return self.grouped_loss(x, table, targets, uniforms, groups)

    def groups(self, targets: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        """Return the rows of each cluster."""
        return [np.flatnonzero((targets >= start) & (targets < end)) for start, end in pairwise(self.bounds)]

    def grouped_loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
        groups: Sequence[Tensor] = (),
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the loss; only the clusters of the targets are computed, unless it samples."""
        sampled = targets if uniforms is None else sample_tokens(self(x, table).detach(), uniforms)
        head, first = self._head(x, table), self.bounds[0]
        clusters = torch.stack([targets >= bound for bound in self.bounds[:-1]]).sum(0)
        places = torch.where(clusters == 0, targets, first + clusters - 1)
        total = -head.gather(1, places[:, None]).sum()
        for number, (start, rows) in enumerate(zip(self.bounds[:-1], groups, strict=True)):
            if len(rows):
                inside = self._tail(number, x[rows], table)
                total = total - inside.gather(1, (targets[rows] - start)[:, None]).sum()
        return total / len(targets), sampled

    def _head(self, x: Tensor, table: Tensor) -> Float[Tensor, "predicted shortlist"]:
        """Return log-probabilities of the tokens below the first cutoff, then of the clusters."""
        first = self.bounds[0]
        weights = torch.cat([table[:first], self.cluster_weight])
        biases = torch.cat([self.words.bias[:first], self.cluster_bias])
        return log_softmax(to_float32(vocabulary_logits(x, weights, biases)), -1)

    def _tail(self, number: int, x: Tensor, table: Tensor) -> Float[Tensor, "predicted cluster"]:
        """Return log-probabilities inside a cluster."""
        start, end = [*pairwise(self.bounds)][number]
        logits = vocabulary_logits(x, table[start:end], self.words.bias[start:end])
        return log_softmax(to_float32(logits), -1)


def build(option: AdaptiveSoftmax, architecture: Architecture) -> OutputHead:
    """Return the adaptive softmax over the option's clusters of the vocabulary."""
    return Head(option, architecture)
