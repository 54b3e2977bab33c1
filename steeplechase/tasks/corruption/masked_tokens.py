"""Masked tokens: the decoder reads [MASK] at each masked place, and predicts the token there."""

import numpy as np

from search_space.corruption import MaskedTokens
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, chosen, masked_at


def corrupted(tokens: Numbers, option: MaskedTokens, context: Context) -> Corrupted:
    """Return the masked text with the masked tokens as its target."""
    places = chosen(option.predictions(len(tokens)), len(tokens), context.random)
    inputs = np.full(len(places), context.tokenizer.mask, np.int64)
    return Corrupted(masked_at(tokens, places, context.tokenizer), inputs, places, tokens[places])
