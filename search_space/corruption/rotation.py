"""Document rotation: the text begins at a random token. BART, arXiv 1910.13461, section 2.2."""

from typing import Literal

from search_space.corruption.option import WholeTarget
from search_space.corruption.row import Context, Corrupted, whole_target
from steeplechase.foundation.numpy_on_use import Numbers, np


class Rotation(WholeTarget):
    """The source is a cyclic shift of the text, by a uniformly drawn number of tokens."""

    kind: Literal["rotation"] = "rotation"
    """Chooses rotation: the source begins elsewhere."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the rotated text, with the text as its target."""
        start = int(context.random.integers(len(tokens)))
        return whole_target(np.roll(tokens, -start), tokens, context.tokenizer)
