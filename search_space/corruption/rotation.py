"""Document rotation: the text begins at a random token. BART, arXiv 1910.13461, section 2.2."""

from typing import Literal

from search_space.corruption.option import WholeTarget


class Rotation(WholeTarget):
    """The source is a cyclic shift of the text, by a uniformly drawn number of tokens."""

    kind: Literal["rotation"] = "rotation"
    """Chooses rotation: the source begins elsewhere."""
