"""Pieces of the token stream, cut at equal lengths. ELECTRA's release."""

from search_space.objective import Objective
from steeplechase.tasks.batches import Batches
from steeplechase.tasks.packing.text import Text


def sequences_of(text: Text, objective: Objective) -> Batches:
    """Return the pieces."""
    return Batches(text.tokens, text.tokenizer, text.sequence_length)
