"""Span boundary objective beside masked language modelling. Joshi et al. 2019 (SpanBERT), arXiv 1907.10529."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from search_space.architecture import Architecture
from search_space.objective import SpanBoundary
from search_space.selection.numbering import NONE
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.models.heads.masked_language_model import SpanBoundaryHead, gather_masked
from steeplechase.tasks.masking import MaskedBatch, Rows
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLoss, AuxiliaryLossModel, MaskedSequences
from steeplechase.tasks.objectives.masked_tokens import MaskedTokenModel
from steeplechase.tasks.tokenizer.word_boundaries import words_of


@dataclass(frozen=True)
class Boundaries(Rows):
    """The boundaries of the masked spans; adjacent spans count as one."""

    left: NDArray[np.int64]
    """The position before the span of each predicted position; shape [batch predictions]."""
    right: NDArray[np.int64]
    """The position after it; shape [batch predictions]."""
    offsets: NDArray[np.int64]
    """The position inside the span, from 0; NONE where it is not predicted from the boundary [batch predictions]."""
    targets: NDArray[np.int64]
    """The original token of each predicted position [batch predictions]."""


@dataclass(frozen=True)
class BoundaryTensors:
    """The boundaries of the masked spans on the device."""

    varying: ClassVar[tuple[str, ...]] = ("rows", "offsets", "tokens")
    left: Int[Tensor, "batch predictions"]
    right: Int[Tensor, "batch predictions"]
    rows: Int[Tensor, " predicted"]
    """The numbers of the positions that are predicted from their boundary, row by row."""
    offsets: Int[Tensor, " predicted"]
    tokens: Int[Tensor, " predicted"]


class SpanBoundaryLoss(AuxiliaryLoss[SpanBoundary, Boundaries]):
    """Cross-entropy of the tokens of masked spans, predicted from the vectors beside the span and the position."""

    head: SpanBoundaryHead
    head_name = "boundary_head"

    def __init__(self, declared: SpanBoundary, architecture: Architecture) -> None:
        super().__init__(declared, architecture)
        self.head = SpanBoundaryHead(architecture, declared.span_positions, declared.position_width)

    def prepare(self, model: MaskedTokenModel[Any], source: MaskedSequences) -> tuple[Numbers, Boundaries]:
        """Return the inputs as they are, and the boundaries of every masked span.

        A span beside a special token has no boundary there and is not predicted from it, as in SpanBERT's release.
        """
        ordinary = words_of(source.sequences.tokens, source.tokenizer) != NONE
        return source.masked.inputs, boundaries_of(source.masked, ordinary, self.declared.span_positions)

    def predictions(self, targets: Boundaries) -> int:
        """Return the number of tokens that are predicted from their span's boundary."""
        return int((targets.offsets != NONE).sum())

    def device_targets(self, model: MaskedTokenModel[Any], targets: Boundaries) -> BoundaryTensors:
        """Return the boundaries on the device."""
        rows = np.flatnonzero(targets.offsets != NONE)
        of_rows = (targets.offsets.ravel()[rows], targets.targets.ravel()[rows])
        return BoundaryTensors(*map(model.tensor, (targets.left, targets.right, rows, *of_rows)))

    def loss(
        self, model: MaskedTokenModel[Any], hidden: Float[Tensor, "batch seq width"], targets: BoundaryTensors
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats of tokens predicted from their span's boundary; 0 without any."""
        if not len(targets.rows):
            return hidden.sum() * 0.0
        left, right = (gather_masked(hidden, each)[targets.rows] for each in (targets.left, targets.right))
        return self.head.loss((left, right), targets.offsets, model.token_table, targets.tokens)


class Model(AuxiliaryLossModel):
    """An encoder with a vocabulary head and a span boundary head."""

    auxiliary_loss = SpanBoundaryLoss


def boundaries_of(batch: MaskedBatch, ordinary: NDArray[np.bool_], span_positions: int) -> Boundaries:
    """Return the boundaries of the spans; `ordinary` [batch seq] is False at special tokens."""
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
    return Boundaries(left, right, offsets, batch.targets)
