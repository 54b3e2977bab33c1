"""Pieces of the token stream with the mentions inside them. Xiong et al. 2019 (WKLM), arXiv 1912.09637."""

from search_space.objective import Objective
from steeplechase.tasks.mentions.sequences import MentionBatches
from steeplechase.tasks.packing.text import Text


def sequences_of(text: Text, objective: Objective) -> MentionBatches:
    """Return the pieces."""
    return MentionBatches(text.tokens, text.mentions, text.entity_names, text.tokenizer, text.sequence_length)
