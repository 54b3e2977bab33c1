"""Permuted tokens: the decoder predicts the hidden tokens in a random order, each at its place."""

import numpy as np

from search_space.corruption import PermutedTokens
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, masked_at


def corrupted(tokens: Numbers, option: PermutedTokens, context: Context) -> Corrupted:
    """Return the text without the drawn tokens, and these in a random order as its target."""
    order = context.random.permutation(len(tokens))[: option.predictions(len(tokens))]
    targets = tokens[order]
    inputs = np.concatenate(([context.tokenizer.mask], targets[:-1]))
    return Corrupted(masked_at(tokens, order, context.tokenizer), inputs, order, targets)
