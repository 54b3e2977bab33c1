"""Consecutive segments: each row of a batch continues its row of the batch before. Transformer-XL, 1901.02860."""

from typing import ClassVar, Literal

from search_space.packing.option import PackingOption


class Consecutive(PackingOption):
    """Pieces of the stream without [CLS] and [SEP]; the last token of one is the first of the next.

    The text is cut into as many lanes as a batch has rows, from a place that the seed draws for every epoch. A row is
    the next segment of its lane, so that a memory of earlier segments is of the text before. The first token of a
    segment is context alone: it was predicted at the end of the segment before.
    """

    reads_sentences: ClassVar[bool] = False
    padded: ClassVar[bool] = False
    consecutive: ClassVar[bool] = True

    kind: Literal["consecutive"] = "consecutive"
    """Chooses consecutive segments."""
