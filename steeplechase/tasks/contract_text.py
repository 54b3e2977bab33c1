"""A small text that every objective can be trained on: words, sentences, documents and mentions of entities.

The contracts of objectives are measured on it, for options of this repository and of plugins.
"""

import numpy as np
from numpy.typing import NDArray

from search_space.objective import Objective
from search_space.packing.sequences import EntityNames, SequenceSource, Text
from steeplechase.tasks.packing import sequences_of
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

WORDS = WordPiece([*SPECIAL_TOKENS, *(f"w{number}" for number in range(34)), "."], lowercase=True)
NAMES = EntityNames(
    ["person", "place", "person", "place"], [[(7,), (8, 9)], [(10, 11)], [(12,)], [(13,), (14, 15, 16)]]
)
TOKENS = 2000


def text(tokens: int = TOKENS) -> NDArray[np.uint16]:
    """Return a stream in which a word mostly follows from the one before, with [SEP] now and then."""
    random = np.random.default_rng(5)
    stream = np.empty(tokens, dtype=np.uint16)
    word = 0
    for place in range(tokens):
        word = (3 * word + 1) % 35 if random.random() < 0.9 else int(random.integers(35))
        stream[place] = WORDS.separate if place % 50 == 49 else word + len(SPECIAL_TOKENS)
    return stream


def mentions() -> NDArray[np.int64]:
    """Return a mention of one or two tokens at every seventh token of `text`, of entity 0 to 3 in turn."""
    starts = np.arange(2, TOKENS - 10, 7)
    return np.stack([starts, starts + 1 + starts % 2, np.arange(len(starts)) % 4], axis=1)


def sequences(objective: Objective, length: int = 16) -> SequenceSource:
    """Return the sequences that the objective is prepared from; a sentence of the text has five tokens."""
    starts = np.flatnonzero(np.arange(TOKENS) % 50 % 5 == 0)[:-1]
    return sequences_of(Text(text(), starts, WORDS, length, mentions(), NAMES), objective)
