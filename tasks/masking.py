"""Masking: draws the predicted tokens and corrupts them in the input. ELECTRA's release, `pretrain_helpers.mask`."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from search_space.objective.masking import Masking
from tasks.batches import Sequences, Tokens
from tasks.evaluation_set import EvaluationSet
from tasks.tokenizer import WordPiece

NOT_PREDICTED = -1
"""Target of a position that only fills a row with fewer predictions than others."""
NEVER = 2.0  # above every uniform number


@dataclass(frozen=True)
class MaskedBatch:
    """A batch with some tokens masked: the inputs, the masked positions and the original tokens there."""

    inputs: Tokens
    """Token identifiers after masking; shape [batch seq]."""
    masked_positions: NDArray[np.int64]
    """Predicted positions, rising along each row; shape [batch predictions]."""
    targets: NDArray[np.int64]
    """The original tokens at those positions, or NOT_PREDICTED; shape [batch predictions]."""

    @property
    def predicted(self) -> NDArray[np.bool_]:
        """Which of the positions are predicted, row by row [batch x predictions]."""
        scored: NDArray[np.bool_] = (self.targets != NOT_PREDICTED).ravel()
        return scored

    def evaluation_set(self, random: np.random.Generator) -> EvaluationSet:
        """Return the evaluation set of these masks, with the same number of predictions in every sequence.

        Where rows have different numbers, as many as the smallest has are drawn from each; the other masked tokens
        stay masked and are not scored.
        """
        scored = self.targets != NOT_PREDICTED
        if scored.all():
            return EvaluationSet(self.inputs, self.masked_positions, self.targets)
        draws = random.random(scored.shape)
        draws[~scored] = NEVER
        count = int(scored.sum(axis=1).min())
        chosen = np.sort(np.argsort(draws, axis=1)[:, :count], axis=1)
        positions, targets = (np.take_along_axis(each, chosen, 1) for each in (self.masked_positions, self.targets))
        return EvaluationSet(self.inputs, positions, targets)

    @property
    def predictions(self) -> int:
        """Number of predictions of all rows: the loss is averaged over them."""
        return int(self.predicted.sum())

    def micro_batches(self, count: int) -> Iterator["MaskedBatch"]:
        """Yield the rows in `count` parts in order, the first ones longer by a row where they cannot be equal."""
        columns = (self.inputs, self.masked_positions, self.targets)
        yield from starmap(MaskedBatch, zip(*(np.array_split(each, count) for each in columns), strict=True))


def mask(sequences: Sequences, masking: Masking, tokenizer: WordPiece, random: np.random.Generator) -> MaskedBatch:
    """Mask a fixed number of tokens per row, drawn without replacement; special tokens and padding are never drawn.

    A row with fewer ordinary tokens is filled with positions that are not predicted.
    """
    tokens = sequences.tokens
    count = masking.predictions(tokens.shape[1])
    draws = random.random(tokens.shape)
    draws[np.isin(tokens, (tokenizer.pad, tokenizer.classify, tokenizer.separate))] = NEVER
    positions = np.sort(np.argpartition(draws, count, axis=1)[:, :count], axis=1)
    originals = np.take_along_axis(tokens, positions, axis=1)
    drawn = np.take_along_axis(draws, positions, axis=1) < NEVER
    uniforms = random.random(positions.shape)
    replacements = random.integers(0, tokenizer.vocabulary_size, positions.shape)
    masked = uniforms < masking.mask_token_share
    randomised = ~masked & (uniforms < masking.mask_token_share + masking.random_token_share)
    visible = np.where(masked, tokenizer.mask, np.where(randomised, replacements, originals))
    inputs = tokens.copy()
    np.put_along_axis(inputs, positions, np.where(drawn, visible, originals), axis=1)
    return MaskedBatch(inputs, positions, np.where(drawn, originals, NOT_PREDICTED))
