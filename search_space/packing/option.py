"""What every option of packing has: what its sequences look like, and what it reads of a text."""

from abc import abstractmethod
from typing import ClassVar

from search_space.packing.sequences import PairRelations, SequenceSource, Text
from steeplechase.foundation.schema import OpenOption


class PackingOption(OpenOption):
    """An option that makes sequences of a text."""

    package: ClassVar[str] = "search_space.packing"
    reads_sentences: ClassVar[bool] = True
    """Whether it needs to know where sentences begin, beside the tokens."""
    padded: ClassVar[bool] = True
    """Whether sequences may be shorter than the recipe's length and end in padding."""
    pairs: ClassVar[bool] = False
    """Whether a sequence is two segments, whose relation an objective can classify."""
    consecutive: ClassVar[bool] = False
    """Whether a row of a batch continues its row of the batch before."""
    follows_text: ClassVar[bool] = False
    """Whether a row is text that continues the row before, and then a pair of segments."""
    reads_mentions: ClassVar[bool] = False
    """Whether it needs to know where entities are mentioned."""

    @abstractmethod
    def sequences_of(self, text: Text, pairs: PairRelations | None) -> SequenceSource:
        """Return the sequences of a text, numbered; `pairs` is what an objective on pairs declares of them."""
