"""A split of a text as packings read it: its tokens, where its sentences begin, and the entities it mentions."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.mentions.token_mentions import EntityNames
from steeplechase.tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class Text:
    """The tokens of a split, [SEP] after every document."""

    tokens: NDArray[np.unsignedinteger]
    sentences: NDArray[np.int64]
    """The position of the first token of every sentence; empty for a packing that reads no sentences."""
    tokenizer: Tokenizer
    sequence_length: int
    """Tokens of a sequence, special ones included."""
    mentions: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """Begin, end and entity of every mention, in order [mentions 3]; empty for a packing that reads none."""
    entity_names: EntityNames = field(default_factory=lambda: EntityNames([], []))
