"""Numbered words and spans of a batch, and what the options that select whole words share."""

from collections.abc import Callable, Sequence

from steeplechase.foundation.numpy_on_use import Numbers, Random, np

NONE = -1
"""The number of a token that is in no word, or in no span."""
NOT_PREDICTED = -1
"""The target of a position that is only read."""
NEVER = 2.0  # above every uniform number


def word_bounds(words: Numbers) -> Numbers:
    """Return the first position of every word of one sequence, and the position after its last [word 2]."""
    inside = np.flatnonzero(words != NONE)
    _, first, counts = np.unique(words[inside], return_index=True, return_counts=True)
    starts = inside[first]
    return np.stack([starts, starts + counts], axis=1)


def marked_spans(
    words: Numbers,
    probabilities: Sequence[float],
    budget: int,
    random: Random,
    mark: Callable[[Numbers, Numbers, int], int],
) -> Numbers:
    """Return spans of drawn lengths that begin at words in random order, until the budget of tokens is spent.

    `mark(row, bounds, left)` marks a span in a row from its words' bounds, with at most `left` tokens, and returns
    its number of tokens.
    """
    spans = np.full_like(words, NONE)
    for row, numbered in zip(spans, words, strict=True):
        bounds, left = word_bounds(numbered), budget
        lengths = drawn_lengths(probabilities, len(bounds), random)
        for first, length in zip(random.permutation(len(bounds)), lengths, strict=True):
            left -= mark(row, bounds[first : first + length], left)
            if left == 0:
                break
    return spans


def drawn_lengths(probabilities: Sequence[float], count: int, random: Random) -> Numbers:
    """Return lengths in words, from 1, for `count` spans."""
    drawn: Numbers = random.choice(len(probabilities), count, p=probabilities) + 1
    return drawn
