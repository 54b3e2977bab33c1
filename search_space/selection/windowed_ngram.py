"""N-grams, each inside a window of context. XLNet, Yang et al. 2019, arXiv 1906.08237, and its data_utils.py."""

from typing import Literal

from search_space.selection.numbering import NONE
from search_space.selection.option import SelectionOption
from steeplechase.foundation.numpy_on_use import Numbers, Random, np
from steeplechase.foundation.schema import Count


class WindowedNGram(SelectionOption):
    """Windows follow each other; each has one n-gram, which begins at a word, at a random place inside it.

    A window is as many times longer than its n-gram as the sequence is than the budget. n counts tokens, of which the
    first begins a word, as in the release. What the windows leave of the budget is filled with single tokens.
    """

    kind: Literal["windowed_ngram"] = "windowed_ngram"
    """Chooses n-grams in windows of context."""
    longest: Count = 5
    """Largest number of tokens of an n-gram; n has the probability p ∝ 1/n. Default: XLNet's release."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of every length in tokens, from 1."""
        weights = [1 / tokens for tokens in range(1, self.longest + 1)]
        return tuple(weight / sum(weights) for weight in weights)

    def budget(self, rate: float, length: int) -> int:
        """Return the number of tokens selected in a sequence of `length`: 85 of 512 at 1/6, as XLNet's release."""
        return int(rate * length + 1e-9)  # 1/3 of 15 is 5

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return every n-gram as a span; what windows leave of the budget is filled with single tokens."""
        spans = np.full_like(words, NONE)
        for row, numbered in zip(spans, words, strict=True):
            inside = np.flatnonzero(numbered != NONE)
            left = min(budget, len(inside))
            if left:
                left -= _mark_windows(row, numbered, inside, left, self, random)
                free = inside[row[inside] == NONE]
                chosen = random.choice(free, left, replace=False)
                row[chosen] = chosen
        return spans


def _mark_windows(
    row: Numbers,
    words: Numbers,
    inside: Numbers,
    budget: int,
    option: WindowedNGram,
    random: Random,
) -> int:
    """Mark an n-gram in every window, and return the number of marked tokens; `inside` are the ordinary tokens."""
    ratio, left, window = len(inside) / budget, budget, 0
    starts = np.flatnonzero(np.diff(words[inside], prepend=NONE))  # places inside, where words begin
    while left and window < len(inside):
        tokens = min(int(random.choice(option.longest, p=option.probabilities)) + 1, left)
        room = max(0, round(tokens * ratio) - tokens)
        before = int(random.integers(room + 1))
        following = starts[np.searchsorted(starts, window + before) :]
        if not len(following):
            break
        begin = int(following[0])
        span = inside[begin : begin + tokens]
        span = span[span - span[0] == np.arange(len(span))]  # up to a special token
        row[span] = span[0]
        left -= len(span)
        window = begin + len(span) + room - before
    return budget - left
