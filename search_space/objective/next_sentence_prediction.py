"""Next sentence prediction: does B continue A? Devlin et al. 2018 (BERT), arXiv 1810.04805, section 3.1."""

from typing import ClassVar, Literal

from search_space.objective.segment_pair import SegmentPair


class NextSentencePrediction(SegmentPair):
    """Whether B continues A, or is a random segment of another document; half of the pairs each."""

    relations: ClassVar[tuple[str, ...]] = ("next", "random")
    fewest_sentences: ClassVar[int] = 1

    kind: Literal["next_sentence_prediction"] = "next_sentence_prediction"
    """Chooses next sentence prediction beside masked language modelling."""
