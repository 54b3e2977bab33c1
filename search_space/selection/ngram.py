"""N-grams of whole words, shorter ones more often. Lan et al. 2019 (ALBERT), arXiv 1909.11942, section 4.1."""

from typing import Literal

from pydantic import Field

from search_space.selection.numbering import NONE, marked_spans
from search_space.selection.option import SelectionOption
from steeplechase.foundation.numpy_on_use import Numbers, Random
from steeplechase.foundation.schema import PositiveNumber


class NGram(SelectionOption):
    """N-grams are drawn until the budget is reached; one that does not fit is shortened by whole words."""

    kind: Literal["ngram"] = "ngram"
    """Chooses n-grams of whole words."""
    weights: tuple[PositiveNumber, ...] = Field(default=(1.0, 1 / 2, 1 / 3), min_length=1, examples=[[6, 3, 2]])
    """Relative probability of an n-gram of 1, 2, … words. Default: p ∝ 1/n up to 3 words, as ALBERT's (mean 1.64)."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of every length in words, from 1."""
        return tuple(weight / sum(self.weights) for weight in self.weights)

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return every drawn n-gram as a span; n-grams do not overlap, and begin at words in random order."""
        return marked_spans(words, self.probabilities, budget, random, _mark)


def _mark(row: Numbers, bounds: Numbers, left: int) -> int:
    """Mark the longest free n-gram that begins with the first word and fits; return its tokens, 0 without one."""
    for words in range(len(bounds), 0, -1):
        start, end = int(bounds[0, 0]), int(bounds[words - 1, 1])
        if end - start <= left and (row[start:end] == NONE).all() and _contiguous(bounds[:words]):
            row[start:end] = start
            return end - start
    return 0


def _contiguous(bounds: Numbers) -> bool:
    """Return whether no special token lies between the words."""
    return bool((bounds[1:, 0] == bounds[:-1, 1]).all())
