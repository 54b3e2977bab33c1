"""How training sequences are made of a text: one file per option; modules of the same names in `tasks/packing`."""

from collections.abc import Iterator
from typing import Annotated

from search_space.packing.continued_pairs import ContinuedPairs
from search_space.packing.mentions import Mentions
from search_space.packing.option import PackingOption
from search_space.packing.segment_pair import SegmentPairs
from search_space.packing.sentence_pair import SentencePairs
from search_space.packing.stream import Consecutive, Stream
from search_space.packing.whole_sentences import DocSentences, FullSentences
from steeplechase.foundation.schema import OPTION, options_of

Packing = Annotated[PackingOption, OPTION]

__all__ = [
    "Consecutive",
    "ContinuedPairs",
    "DocSentences",
    "FullSentences",
    "Mentions",
    "Packing",
    "PackingOption",
    "SegmentPairs",
    "SentencePairs",
    "Stream",
    "packings",
]


def packings() -> Iterator[PackingOption]:
    """Yield every option at its defaults."""
    yield from (option() for option in options_of(PackingOption))
