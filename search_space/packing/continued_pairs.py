"""Text that continues the row before, then a pair of segments. XLNet, Yang et al. 2019, arXiv 1906.08237.

Source: github zihangdai/xlnet, data_utils.py: of 512 tokens, 256 continue the row before and are kept as its memory.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from search_space.packing.option import PackingOption
from steeplechase.foundation.errors import Violation

SPECIAL_TOKENS = 3  # [CLS], [SEP], [SEP]
SHORTEST = 2 * (SPECIAL_TOKENS + 2)
"""With a token in A and in B."""


class ContinuedPairs(PackingOption):
    """Half a sequence of text, then [CLS] A [SEP] B [SEP]; every sequence is full.

    The text is cut into as many lanes as a batch has rows, from a place that the seed draws for every epoch. The
    first half of a row continues the first half of its row of the batch before; a memory is of these halves alone,
    across the ends of documents. A begins where the half ends; B continues A or, in half of the rows, is from a
    random place of the text.
    """

    consecutive: ClassVar[bool] = True
    padded: ClassVar[bool] = False
    follows_text: ClassVar[bool] = True

    kind: Literal["continued_pairs"] = "continued_pairs"
    """Chooses text that continues, then a pair of segments."""
    both_directions: bool = True
    """Whether half of the rows read the text from its end to its beginning, so that their memory is of what follows;
    their distances between positions are still those of the text."""

    def mistakes_at(self, length: int, rows: int) -> Iterator[Violation]:
        """Yield what sequences of a length, or batches of so many rows, cannot be made; paths are a recipe's."""
        if length % 2 or length < SHORTEST:
            message = f"{length} tokens cannot be half text and half a pair; write an even number from {SHORTEST}"
            yield Violation(("sequence_length",), message)
        if self.both_directions and rows % 2:
            message = f"{rows} rows cannot be half forwards and half backwards; write an even number"
            yield Violation(("batch_sequences",), f"{message}, or both_directions: false")
