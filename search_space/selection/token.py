"""Single tokens, drawn independently of each other. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

from typing import Literal

from search_space.selection.numbering import NEVER, NONE
from search_space.selection.option import SelectionOption
from steeplechase.foundation.numpy_on_use import Numbers, Random, np


class SingleToken(SelectionOption):
    """Every token is drawn with the same probability, pieces of one word independently."""

    kind: Literal["token"] = "token"
    """Chooses single tokens."""

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return every drawn token as a span of its own."""
        draws = random.random(words.shape)
        draws[words == NONE] = NEVER
        chosen = np.argpartition(draws, budget, axis=1)[:, :budget]
        spans = np.full_like(words, NONE)
        np.put_along_axis(spans, chosen, chosen, axis=1)
        spans[words == NONE] = NONE
        return spans
