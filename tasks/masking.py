"""Which tokens are predicted and what is shown in their place. ELECTRA's release, `pretrain_helpers.mask`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from search_space.objective.masking import Masking
from tasks.batches import Tokens
from tasks.tokenizer import WordPiece


@dataclass(frozen=True)
class MaskedBatch:
    """A batch with some tokens covered: what is shown, where something is predicted, and what stood there."""

    shown: Tokens
    """Shape [batch seq]."""
    positions: NDArray[np.int64]
    """Predicted positions, rising along each row; shape [batch predictions]."""
    answers: NDArray[np.int64]
    """The tokens that stood there; shape [batch predictions]."""


def mask(batch: Tokens, masking: Masking, words: WordPiece, random: np.random.Generator) -> MaskedBatch:
    """Cover a fixed number of tokens per row, drawn without replacement; special tokens are never drawn."""
    count = masking.predictions(batch.shape[1])
    draws = random.random(batch.shape)
    draws[np.isin(batch, (words.pad, words.classify, words.separate))] = 2.0
    positions = np.sort(np.argpartition(draws, count, axis=1)[:, :count], axis=1)
    answers = np.take_along_axis(batch, positions, axis=1)
    fate = random.random(positions.shape)
    replacements = random.integers(0, words.vocabulary_size, positions.shape)
    covered = fate < masking.mask_token_share
    scrambled = ~covered & (fate < masking.mask_token_share + masking.random_token_share)
    visible = np.where(covered, words.mask, np.where(scrambled, replacements, answers))
    shown = batch.copy()
    np.put_along_axis(shown, positions, visible, axis=1)
    return MaskedBatch(shown, positions, answers)
