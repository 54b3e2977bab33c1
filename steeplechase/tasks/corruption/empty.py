"""An empty source: the decoder is a language model."""

import numpy as np

from search_space.corruption import Empty
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, whole_target


def corrupted(tokens: Numbers, option: Empty, context: Context) -> Corrupted:
    """Return a source without tokens, with the whole text as its target."""
    return whole_target(np.empty(0, np.int64), tokens, context.tokenizer)
