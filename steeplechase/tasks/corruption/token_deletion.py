"""Token deletion: the source lacks the drawn tokens."""

import numpy as np

from search_space.corruption import TokenDeletion
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, chosen, whole_target


def corrupted(tokens: Numbers, option: TokenDeletion, context: Context) -> Corrupted:
    """Return what is left of the text, with the whole text as its target."""
    places = chosen(round(option.rate * len(tokens)), len(tokens), context.random)
    return whole_target(np.delete(tokens, places), tokens, context.tokenizer)
