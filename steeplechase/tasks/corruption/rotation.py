"""Rotation: the source begins at a random token and goes round."""

import numpy as np

from search_space.corruption import Rotation
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, whole_target


def corrupted(tokens: Numbers, option: Rotation, context: Context) -> Corrupted:
    """Return the rotated text, with the text as its target."""
    start = int(context.random.integers(len(tokens)))
    return whole_target(np.roll(tokens, -start), tokens, context.tokenizer)
