"""Word structural objective: put shuffled words back in order. Wang et al. 2019 (StructBERT), arXiv 1908.04577.

Shuffling: permutes runs of adjacent tokens that are not masked. Wang et al. 2019, arXiv 1908.04577.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from search_space.objective import WordStructure
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLoss, AuxiliaryLossModel, MaskedSequences
from steeplechase.tasks.objectives.masked_tokens import (
    MaskedTensors,
    MaskedTokenModel,
    masked_tensors,
    masked_token_loss,
)
from steeplechase.tasks.tokenizer.word_boundaries import words_of


class WordStructureLoss(AuxiliaryLoss[WordStructure, MaskedBatch]):
    """Cross-entropy of the original tokens of shuffled runs; its targets are a batch of which they are predicted."""

    def prepare(self, model: MaskedTokenModel[Any], source: MaskedSequences) -> tuple[Numbers, MaskedBatch]:
        """Return the inputs with shuffled runs among the tokens that are not masked, and the original tokens."""
        ordinary = words_of(source.sequences.tokens, source.tokenizer) != NONE
        rate, together = self.declared.shuffle_rate, self.declared.shuffled_together
        runs = shuffle(source.masked, ordinary, rate, together, source.random)
        return runs.inputs, runs

    def predictions(self, targets: MaskedBatch) -> int:
        """Return the number of shuffled tokens."""
        return targets.predictions

    def device_targets(self, model: MaskedTokenModel[Any], targets: MaskedBatch) -> MaskedTensors:
        """Return the shuffled tokens on the device."""
        return masked_tensors(targets, model.encoder.device)

    def loss(
        self, model: MaskedTokenModel[Any], hidden: Float[Tensor, "batch seq width"], targets: MaskedTensors
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats of shuffled tokens, by the vocabulary head."""
        return masked_token_loss(hidden, targets, model.head, model.token_table)[0]


class Model(AuxiliaryLossModel):
    """An encoder with a vocabulary head, which predicts masked and shuffled tokens."""

    auxiliary_loss = WordStructureLoss


def shuffled_runs(
    inputs: Numbers, allowed: NDArray[np.bool_], rate: float, length: int, random: np.random.Generator
) -> Numbers:
    """Return the number of the run of every token to be shuffled [batch seq], NONE elsewhere.

    A run has `length` adjacent tokens, all `allowed`, and not all equal. On average `rate` of the allowed tokens are
    in runs, unless there is no room for them.
    """
    runs = np.full_like(inputs, NONE)
    wanted = np.floor(rate * allowed.sum(axis=1) / length + random.random(len(inputs))).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(allowed, length, axis=1).all(axis=2)
    tokens = np.lib.stride_tricks.sliding_window_view(inputs, length, axis=1)
    windows = windows & (tokens != tokens[..., :1]).any(axis=2)
    for row, count in enumerate(wanted.tolist()):
        left = count
        for start in random.permutation(np.flatnonzero(windows[row])).tolist() if count else ():
            if (runs[row, start : start + length] == NONE).all():
                runs[row, start : start + length] = start
                left -= 1
            if left == 0:
                break
    return runs


def shuffle(
    batch: MaskedBatch, ordinary: NDArray[np.bool_], rate: float, length: int, random: np.random.Generator
) -> MaskedBatch:
    """Return the inputs with shuffled runs, and the original tokens of these as its predictions.

    `ordinary` [batch seq] is False at special tokens and padding; they are not shuffled, and masked tokens neither.
    """
    allowed = ordinary.copy()
    rows, columns = np.nonzero(batch.targets != NOT_PREDICTED)
    allowed[rows, batch.masked_positions[rows, columns]] = False
    if batch.inputs.shape[1] < length:
        return _predictions(batch.inputs, batch.inputs, np.full_like(batch.inputs, NONE))
    runs = shuffled_runs(batch.inputs, allowed, rate, length, random)
    shuffled = batch.inputs.copy()
    for row, start in zip(*np.nonzero((runs == np.arange(runs.shape[1])) & (runs != NONE)), strict=True):
        run = slice(start, start + length)
        shuffled[row, run] = random.permutation(shuffled[row, run])
    return _predictions(shuffled, batch.inputs, runs)


def _predictions(inputs: Numbers, originals: Numbers, runs: Numbers) -> MaskedBatch:
    count = max(1, int((runs != NONE).sum(axis=1).max()))
    positions = np.sort(np.argsort(runs == NONE, axis=1, kind="stable")[:, :count], axis=1)
    drawn, targets = (np.take_along_axis(each, positions, axis=1) for each in (runs, originals))
    return MaskedBatch(inputs, positions, np.where(drawn != NONE, targets, NOT_PREDICTED), drawn)
