"""Single tokens, drawn without replacement. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

import numpy as np

from search_space.selection.token import SingleToken
from steeplechase.tasks.selection.numbering import NEVER, NONE, Numbers


def select(words: Numbers, option: SingleToken, budget: int, random: np.random.Generator) -> Numbers:
    """Return every drawn token as a span of its own."""
    draws = random.random(words.shape)
    draws[words == NONE] = NEVER
    chosen = np.argpartition(draws, budget, axis=1)[:, :budget]
    spans = np.full_like(words, NONE)
    np.put_along_axis(spans, chosen, chosen, axis=1)
    spans[words == NONE] = NONE
    return spans
