"""Masking: draws the predicted tokens and corrupts them in the input. ELECTRA's release, `pretrain_helpers.mask`."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from search_space.objective.masking import Masking
from tasks.batches import Tokens
from tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class MaskedBatch:
    """A batch with some tokens masked: the inputs, the masked positions and the original tokens there."""

    inputs: Tokens
    """Token identifiers after masking; shape [batch seq]."""
    masked_positions: NDArray[np.int64]
    """Predicted positions, rising along each row; shape [batch predictions]."""
    targets: NDArray[np.int64]
    """The original tokens at those positions; shape [batch predictions]."""

    @property
    def predictions(self) -> int:
        """Predictions of all rows: the loss is averaged over them."""
        return self.targets.size

    def micro_batches(self, count: int) -> Iterator["MaskedBatch"]:
        """Yield the rows in `count` parts in order, the first ones longer by a row where they cannot be equal."""
        columns = (self.inputs, self.masked_positions, self.targets)
        yield from starmap(MaskedBatch, zip(*(np.array_split(each, count) for each in columns), strict=True))


def mask(batch: Tokens, masking: Masking, tokenizer: Tokenizer, random: np.random.Generator) -> MaskedBatch:
    """Mask a fixed number of tokens per row, drawn without replacement; special tokens are never drawn."""
    count = masking.predictions(batch.shape[1])
    draws = random.random(batch.shape)
    draws[np.isin(batch, (tokenizer.pad, tokenizer.classify, tokenizer.separate))] = 2.0
    positions = np.sort(np.argpartition(draws, count, axis=1)[:, :count], axis=1)
    targets = np.take_along_axis(batch, positions, axis=1)
    uniforms = random.random(positions.shape)
    replacements = random.integers(0, tokenizer.vocabulary_size, positions.shape)
    masked = uniforms < masking.mask_token_share
    randomised = ~masked & (uniforms < masking.mask_token_share + masking.random_token_share)
    visible = np.where(masked, tokenizer.mask, np.where(randomised, replacements, targets))
    inputs = batch.copy()
    np.put_along_axis(inputs, positions, visible, axis=1)
    return MaskedBatch(inputs, positions, targets)
