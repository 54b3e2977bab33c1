"""A head over the vocabulary: the interface, and heads whose logits are products with one vector per token."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from steeplechase.models.kernels.vocabulary_cross_entropy import Uniforms, vocabulary_cross_entropy, vocabulary_logits

Products = tuple[Float[Tensor, "predicted channels"], Float[Tensor, "vocab channels"], Float[Tensor, " vocab"] | None]
"""Vectors, a vector per token, and a bias per token; None: no biases."""


class OutputHead(nn.Module):
    """Base class of output layers: each file of `steeplechase.models.output_layer` has `build`, which returns one."""

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return logits over the vocabulary, whose softmax is the probability of each token."""

    @abstractmethod
    def loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the mean cross-entropy in nats, and tokens sampled at the uniform numbers."""

    def groups(self, targets: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        """Return the numbers of the rows that `grouped_loss` computes apart, by their targets; by default none."""
        return ()

    def grouped_loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
        groups: Sequence[Tensor] = (),
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the loss with its `groups` on the device, which the host has found: nobody waits for the device."""
        return self.loss(x, table, targets, uniforms)


class ProductHead(OutputHead):
    """The logits are products of a vector with those of the tokens; the loss need not store them."""

    @abstractmethod
    def products(self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]) -> Products:
        """Return what is multiplied, from hidden states and the embedding table."""

    def forward(
        self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return logits over the vocabulary."""
        return vocabulary_logits(*self.products(x, table))

    def loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the mean cross-entropy in nats, and tokens sampled at the uniform numbers."""
        vectors, words, bias = self.products(x, table)
        bias = words.new_zeros(len(words)) if bias is None else bias
        return vocabulary_cross_entropy(vectors, words, bias, targets, uniforms)
