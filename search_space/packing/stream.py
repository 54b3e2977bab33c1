"""Pieces of the token stream, cut at equal lengths, across sentences and documents. ELECTRA's release."""

from typing import ClassVar, Literal

from search_space.packing.option import PackingOption


class Stream(PackingOption):
    """[CLS], a piece of the stream, [SEP]; every sequence is full."""

    reads_sentences: ClassVar[bool] = False
    padded: ClassVar[bool] = False

    kind: Literal["stream"] = "stream"
    """Chooses pieces of the stream."""
