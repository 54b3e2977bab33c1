"""N-grams, each inside a window of context. XLNet, Yang et al. 2019, arXiv 1906.08237, and its data_utils.py."""

from typing import Literal

from search_space.selection.option import SelectionOption
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
