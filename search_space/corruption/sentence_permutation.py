"""Sentence permutation: the sentences in a random order. BART, arXiv 1910.13461, section 2.2."""

from functools import lru_cache
from typing import Literal

from search_space.corruption.option import WholeTarget
from search_space.corruption.row import Context, Corrupted, whole_target
from search_space.special_tokens import SpecialTokens
from steeplechase.foundation.numpy_on_use import Numbers, np

SENTENCE_ENDS = frozenset(".!?")


class SentencePermutation(WholeTarget):
    """Sentences end with the tokens `.`, `!` and `?`, as at fairseq's full stop; one sentence stays as it is."""

    kind: Literal["sentence_permutation"] = "sentence_permutation"
    """Chooses sentence permutation."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the permuted text, with the text as its target."""
        return whole_target(permuted_sentences(tokens, context), tokens, context.tokenizer)


def permuted_sentences(tokens: Numbers, context: Context) -> Numbers:
    """Return the text with its sentences in a random order; what follows the last end is a sentence too."""
    ends = np.flatnonzero(np.isin(tokens, sentence_ends(context.tokenizer))) + 1
    sentences = [each for each in np.split(tokens, ends) if len(each)]
    order = context.random.permutation(len(sentences))
    return np.concatenate([sentences[number] for number in order]) if sentences else tokens


@lru_cache(maxsize=4)
def sentence_ends(tokenizer: SpecialTokens) -> tuple[int, ...]:
    """Return the tokens that end sentences, with or without a mark of the tokenizer's around them."""
    bare = (piece.removeprefix("##").strip("▁Ġ") for piece in tokenizer.pieces)
    return tuple(token for token, piece in enumerate(bare) if piece in SENTENCE_ENDS)
