"""Span boundary objective beside masked language modelling. Joshi et al. 2019 (SpanBERT), arXiv 1907.10529."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from models.heads.masked_language_model import gather_masked
from models.heads.span_boundary import SpanBoundaryHead
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import SpanBoundary
from tasks.batches import Sequences
from tasks.masking import MaskedBatch, mask
from tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from tasks.selection import NONE, words_of
from tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class SpanBatch(MaskedBatch):
    """A masked batch with the boundaries of the masked spans; adjacent spans count as one."""

    left: NDArray[np.int64]
    """The position before the span of each predicted position; shape [batch predictions]."""
    right: NDArray[np.int64]
    """The position after it; shape [batch predictions]."""
    offsets: NDArray[np.int64]
    """The position inside the span, from 0; NONE where it is not predicted from the boundary [batch predictions]."""


class Model(MaskedTokenModel[SpanBatch]):
    """An encoder with a vocabulary head and a span boundary head."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, SpanBoundary)
        self.objective = candidate.objective
        self.boundary_head = SpanBoundaryHead(
            candidate.architecture, self.objective.span_positions, self.objective.position_width
        )

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> SpanBatch:
        """Return the sequences with masks, and the boundaries of every masked span.

        A span beside a special token has no boundary there and is not predicted from it, as in SpanBERT's release.
        """
        masked = mask(sequences, self.objective, tokenizer, random)
        ordinary = words_of(sequences.tokens, tokenizer) != NONE
        return with_boundaries(masked, ordinary, self.objective.span_positions)

    def predictions_of_terms(self, batch: SpanBatch) -> tuple[int, int]:
        """Return the masked tokens, and those that are predicted from their span's boundary too."""
        return batch.predictions, int((batch.offsets != NONE).sum())

    def loss_terms(
        self, batch: SpanBatch, random: np.random.Generator
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return both weighted losses in nats."""
        masked, boundary = self.losses(batch)
        return self.objective.masked_token_weight * masked, self.objective.boundary_weight * boundary

    def losses(self, batch: SpanBatch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean cross-entropies in nats, from the tokens' own vectors and from the spans' boundaries."""
        hidden = self.encoder(self.tensor(batch.inputs))
        masked, _ = masked_token_loss(hidden, batch, self.head, self.token_table)
        return masked, self._boundary_loss(hidden, batch)

    def _boundary_loss(self, hidden: Float[Tensor, "batch seq width"], batch: SpanBatch) -> Float[Tensor, ""]:
        rows = np.flatnonzero(batch.offsets != NONE)
        if not len(rows):
            return hidden.sum() * 0.0
        kept = self.tensor(rows)
        left, right = (gather_masked(hidden, self.tensor(each))[kept] for each in (batch.left, batch.right))
        offsets, targets = (self.tensor(each.ravel()[rows]) for each in (batch.offsets, batch.targets))
        return self.boundary_head.loss((left, right), offsets, self.token_table, targets)


def with_boundaries(batch: MaskedBatch, ordinary: NDArray[np.bool_], span_positions: int) -> SpanBatch:
    """Return the batch with the boundaries of its spans; `ordinary` [batch seq] is False at special tokens."""
    predicted = batch.spans != NONE
    selected = np.zeros_like(ordinary)
    np.put_along_axis(selected, batch.masked_positions, predicted, axis=1)
    length = ordinary.shape[1]
    columns = np.arange(length)
    before = np.maximum.accumulate(np.where(selected, 0, columns), axis=1)
    after = np.minimum.accumulate(np.where(selected, length - 1, columns)[:, ::-1], axis=1)[:, ::-1]
    left, right = (np.take_along_axis(each, batch.masked_positions, axis=1) for each in (before, after))
    offsets = batch.masked_positions - left - 1
    bounded = np.take_along_axis(ordinary, left, axis=1) & np.take_along_axis(ordinary, right, axis=1)
    offsets = np.where(predicted & bounded & (offsets < span_positions), offsets, NONE)
    return SpanBatch(batch.inputs, batch.masked_positions, batch.targets, batch.spans, left, right, offsets)
