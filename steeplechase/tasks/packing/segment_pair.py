"""Pairs of segments. Devlin et al. 2018 (BERT), arXiv 1810.04805, appendix A.2."""

from search_space.objective import Objective
from steeplechase.tasks.packing.pairs import pairs_of
from steeplechase.tasks.packing.text import Text
from steeplechase.tasks.segment_pairs import SegmentPairs


def sequences_of(text: Text, objective: Objective) -> SegmentPairs:
    """Return the pairs, in the relations of the objective."""
    return SegmentPairs(text.tokens, text.sentences, text.tokenizer, text.sequence_length, pairs_of(objective))
