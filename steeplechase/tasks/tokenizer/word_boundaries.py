"""Where words start among tokens: for masks of whole words and spans that begin with one."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from search_space.selection.numbering import NONE
from steeplechase.tasks.tokenizer.tokenizer import Tokenizer


class WordBoundaries:
    """The tokens that start or end a word by themselves, as arrays over the vocabulary; special tokens are words.

    Words are what the tokenizer splits a text into before its pieces. WordPiece, BPE and words split at white space
    and punctuation; bytes, unigram pieces and characters at white space: a comma is in the word before it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.starts_word: NDArray[np.bool_] = np.array(tokenizer.starts_word)
        """Whether a token is the first of a word, whatever is before it [vocabulary]."""
        self.ends_word: NDArray[np.bool_] = np.array(tokenizer.ends_word)
        """Whether a token is the last of a word, whatever is after it [vocabulary]."""

    def starts(self, tokens: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether a word starts at each token [... seq]: the first token of a sequence always starts one."""
        starts: NDArray[np.bool_] = self.starts_word[tokens]
        starts[..., :1] = True
        starts[..., 1:] |= self.ends_word[tokens[..., :-1]]
        return starts

    def starts_at(self, tokens: NDArray[np.integer], positions: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether a word starts at each of the positions in a sequence [positions]; at its end, one would."""
        inside, behind = positions < len(tokens), positions > 0
        starts = ~(inside & behind)
        inner = positions[inside & behind]
        starts[inside & behind] = self.starts_word[tokens[inner]] | self.ends_word[tokens[inner - 1]]
        return starts


@lru_cache(maxsize=4)
def boundaries_of(tokenizer: Tokenizer) -> WordBoundaries:
    """Return the boundaries of a tokenizer, made once."""
    return WordBoundaries(tokenizer)


def words_of(tokens: NDArray[np.int64], tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return the number of the word of every token [batch seq], NONE at special tokens and padding.

    A piece that continues no word of the sequence, because the sequence begins inside a word, begins one.
    """
    ordinary = ~np.isin(tokens, (tokenizer.pad, tokenizer.classify, tokenizer.separate))
    continues = ~boundaries_of(tokenizer).starts(tokens)
    continues[:, 1:] &= ordinary[:, :-1]
    numbers: NDArray[np.int64] = np.cumsum(ordinary & ~continues, axis=1) - 1
    return np.where(ordinary, numbers, NONE)
