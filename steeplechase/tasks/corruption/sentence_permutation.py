"""Sentence permutation: the sentences of the source are in a random order."""

from functools import lru_cache

import numpy as np

from search_space.corruption import SentencePermutation
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, whole_target
from steeplechase.tasks.tokenizer import Tokenizer

SENTENCE_ENDS = frozenset(".!?")


def corrupted(tokens: Numbers, option: SentencePermutation, context: Context) -> Corrupted:
    """Return the permuted text, with the text as its target."""
    return whole_target(permuted_sentences(tokens, context), tokens, context.tokenizer)


def permuted_sentences(tokens: Numbers, context: Context) -> Numbers:
    """Return the text with its sentences in a random order; what follows the last end is a sentence too."""
    ends = np.flatnonzero(np.isin(tokens, sentence_ends(context.tokenizer))) + 1
    sentences = [each for each in np.split(tokens, ends) if len(each)]
    order = context.random.permutation(len(sentences))
    return np.concatenate([sentences[number] for number in order]) if sentences else tokens


@lru_cache(maxsize=4)
def sentence_ends(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the tokens that end sentences, with or without a mark of the tokenizer's around them."""
    bare = (piece.removeprefix("##").strip("▁Ġ") for piece in tokenizer.pieces)
    return tuple(token for token, piece in enumerate(bare) if piece in SENTENCE_ENDS)
