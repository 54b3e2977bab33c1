"""Sentence structural objective: next, previous or random? Wang et al. 2019 (StructBERT), arXiv 1908.04577, 2.2."""

from typing import ClassVar, Literal

from search_space.objective.segment_pair import SegmentPair


class SentenceStructure(SegmentPair):
    """Whether B continues A, A continues B, or B is of another document; a third of the pairs each."""

    relations: ClassVar[tuple[str, ...]] = ("next", "previous", "random")
    fewest_sentences: ClassVar[int] = 2

    kind: Literal["sentence_structure"] = "sentence_structure"
    """Chooses the sentence structural objective beside masked language modelling."""
