"""Pieces of the token stream with the entity mentions inside them. Xiong et al. 2019 (WKLM), arXiv 1912.09637."""

from typing import ClassVar, Literal

from search_space.packing.option import PackingOption


class Mentions(PackingOption):
    """[CLS], a piece of the stream, [SEP], and where it mentions entities; names of other lengths leave padding."""

    reads_sentences: ClassVar[bool] = False
    reads_mentions: ClassVar[bool] = True

    kind: Literal["mentions"] = "mentions"
    """Chooses pieces of the stream with their mentions."""
