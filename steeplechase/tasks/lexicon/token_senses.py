"""The supersenses of the tokens of a vocabulary, stored beside it: M of SenseBERT. Levine et al. 2019, 1908.05646."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import CorruptionError
from steeplechase.tasks.lexicon.supersenses import Supersenses
from steeplechase.tasks.tokenizer import Tokenizer

FILE = "supersenses.npy"


def token_senses(supersenses: Supersenses, tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Return which supersenses the word of each token may have [vocabulary senses].

    Tokens that are no words by themselves, such as pieces that continue a word, have none.
    """
    allowed = np.zeros((tokenizer.vocabulary_size, len(supersenses.names)), np.bool_)
    starts, ends = np.array(tokenizer.starts_word), np.array(tokenizer.ends_word)
    for token in np.flatnonzero(starts | ends).tolist():
        if tokenizer.pieces[token] in tokenizer.special_pieces:
            continue
        word = tokenizer.decode([token]).strip()
        if word.isalpha():
            allowed[token, [*supersenses.allowed(word)]] = True
    return allowed


def write_token_senses(allowed: NDArray[np.bool_], folder: Path) -> None:
    """Write the matrix into the folder of the tokens stage."""
    np.save(folder / FILE, allowed, allow_pickle=False)


def read_token_senses(folder: Path) -> NDArray[np.bool_]:
    """Return what `write_token_senses` wrote. Raises CorruptionError if it is not such a file."""
    try:
        allowed: NDArray[np.bool_] = np.load(folder / FILE, allow_pickle=False)
    except (OSError, ValueError, EOFError) as damage:
        raise CorruptionError(f"{FILE}: {damage}") from damage
    if allowed.ndim != 2 or allowed.dtype != np.bool_:
        raise CorruptionError(f"{FILE}: an array {allowed.shape} of {allowed.dtype}, expected tokens by supersenses")
    return allowed
