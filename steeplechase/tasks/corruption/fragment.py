"""A fragment: the decoder predicts it from its tokens before and what the source shows. MASS, section 3.2."""

import numpy as np

from search_space.corruption import Fragment
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, chosen, masked_at
from steeplechase.tasks.masking import NOT_PREDICTED

AT_AN_END = 0.2  # of the fragments, at the beginning and as many at the end (github microsoft/MASS, MASS-unsupNMT)


def corrupted(tokens: Numbers, option: Fragment, context: Context) -> Corrupted:
    """Return the text without the fragment; the decoder reads [MASK], then the fragment's tokens at their places.

    Where it reads all, it reads [CLS] and the text, and predicts the fragment's tokens alone.
    """
    count = option.predictions(len(tokens))
    if option.discrete:
        places = chosen(count, len(tokens), context.random)
    else:
        places = np.arange(count) + fragment_start(len(tokens) - count, context.random)
    source = masked_at(tokens, places, context.tokenizer)
    if option.reads_all:
        inputs = np.concatenate(([context.tokenizer.classify], tokens[:-1]))
        hidden = np.isin(np.arange(len(tokens)), places)
        return Corrupted(source, inputs, np.arange(len(tokens)), np.where(hidden, tokens, NOT_PREDICTED))
    targets = tokens[places]
    inputs = np.concatenate(([context.tokenizer.mask], targets[:-1]))
    return Corrupted(source, inputs, places, targets)


def fragment_start(last: int, random: np.random.Generator) -> int:
    """Return the first place of a fragment, from 0 to `last`: often one of the two, else uniform over all."""
    draw = random.random()
    uniform = int(random.integers(last + 1))
    if draw < AT_AN_END:
        return 0
    return last if draw < 2 * AT_AN_END else uniform
