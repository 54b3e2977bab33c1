"""Tokens drawn by their frequency in a text: ELECTRA's unigram generator. Clark et al. 2020, arXiv 2003.10555."""

from dataclasses import replace

import numpy as np

from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Numbers, Random, Unsigned
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.tokenizer import Tokenizer

ROUNDS = 100
"""Draws of one sample; so many special tokens in a row mean a text of hardly anything else."""


def with_unigram_samples(
    batch: MaskedBatch, text: Unsigned, tokenizer: Tokenizer, random: np.random.Generator
) -> MaskedBatch:
    """Return the batch with a sample in place of every predicted token, whether [MASK] or its own token is there.

    Raises DataError if the text has hardly an ordinary token.
    """
    inputs = batch.inputs.copy()
    kept = np.take_along_axis(inputs, batch.masked_positions, axis=1)
    samples = unigram_samples(text, tokenizer, batch.targets.size, random).reshape(batch.targets.shape)
    np.put_along_axis(inputs, batch.masked_positions, np.where(batch.targets != NOT_PREDICTED, samples, kept), axis=1)
    return replace(batch, inputs=inputs)


def unigram_samples(text: Unsigned, tokenizer: Tokenizer, count: int, random: Random) -> Numbers:
    """Return tokens of the text at `count` random places, which has the frequencies of the text; no special tokens.

    Raises DataError if the text has hardly an ordinary token.
    """
    special = (tokenizer.pad, tokenizer.classify, tokenizer.separate, tokenizer.mask)
    samples = np.full(count, tokenizer.pad, dtype=np.int64)
    for _ in range(ROUNDS if len(text) else 0):
        missing = np.flatnonzero(np.isin(samples, special))
        if not len(missing):
            return samples
        samples[missing] = text[random.integers(0, len(text), len(missing))]
    raise DataError(f"the text of {len(text)} tokens has hardly a token that is not special; none can be sampled")
