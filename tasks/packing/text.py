"""A split of a text as packings read it: its tokens, and where its sentences begin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class Text:
    """The tokens of a split, [SEP] after every document."""

    tokens: NDArray[np.unsignedinteger]
    sentences: NDArray[np.int64]
    """The position of the first token of every sentence; empty for a packing that reads no sentences."""
    tokenizer: Tokenizer
    sequence_length: int
    """Tokens of a sequence, special ones included."""
