"""What every option of selection has: the number of selected tokens of a sequence, and their selection."""

from abc import abstractmethod
from typing import ClassVar

from steeplechase.foundation.numpy_on_use import Numbers, Random
from steeplechase.foundation.schema import OpenOption


class SelectionOption(OpenOption):
    """An option that selects at most a number of tokens, which depends on the rate and the length alone."""

    package: ClassVar[str] = "search_space.selection"

    def budget(self, rate: float, length: int) -> int:
        """Return the maximum number of tokens selected in a sequence of `length`: 19 of 128 at 15%, as ELECTRA's."""
        return int((rate + 0.005) * length)

    @abstractmethod
    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return the number of the selected span of every token [batch seq], NONE where it is not selected.

        `words` [batch seq] numbers the words of each sequence, NONE at special tokens and padding.
        """
