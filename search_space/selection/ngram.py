"""N-grams of whole words, shorter ones more often. Lan et al. 2019 (ALBERT), arXiv 1909.11942, section 4.1."""

from typing import Literal

from pydantic import Field

from search_space.selection.option import SelectionOption
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
