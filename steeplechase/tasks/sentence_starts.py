"""Where the sentences of a token stream begin: needed by objectives that read pairs of segments."""

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import CorruptionError
from steeplechase.tasks.stored_arrays import read_array
from steeplechase.tasks.tokenizer import Tokenizer, TokensWithOffsets

TEXTS_PER_BATCH = 512
BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\s*\n\s*")
"""White space after a full stop, a question or an exclamation mark, perhaps quoted; and every line break."""


def sentence_file(folder: Path, split: str) -> Path:
    """Return the file of a split's sentence starts in the folder of the tokens stage."""
    return folder / f"{split}.sentences.npy"


def write_sentence_starts(texts: Iterable[str], tokenizer: Tokenizer, path: Path) -> int:
    """Write the position of the first token of every sentence in the stream that `write_tokens` writes.

    Return the number of texts of one sentence, of which no pair of two can be made.
    """
    position, single, starts = 0, 0, [np.empty(0, np.int64)]
    remaining = iter(texts)
    while batch := list(islice(remaining, TEXTS_PER_BATCH)):
        for text, encoded in zip(batch, tokenizer.encode_with_offsets(batch), strict=True):
            starts.append(position + _starts(text, encoded))
            single += len(starts[-1]) == 1
            position += len(encoded.tokens) + 1  # [SEP]
    np.save(path, np.concatenate(starts), allow_pickle=False)
    return single


def _starts(text: str, encoded: TokensWithOffsets) -> NDArray[np.int64]:
    """Return the numbers of the first tokens of the sentences of one text, each once."""
    characters = [0, *(gap.end() for gap in BETWEEN_SENTENCES.finditer(text))]
    tokens = np.searchsorted([start for start, _ in encoded.offsets], characters)
    return np.unique(tokens[tokens < len(encoded.tokens)]).astype(np.int64)


def read_sentence_starts(path: Path) -> NDArray[np.int64]:
    """Return what `write_sentence_starts` wrote. Raises CorruptionError if it is not such a file."""
    starts: NDArray[np.int64] = read_array(path, ("<i8",), 1)
    if (np.diff(starts) <= 0).any():
        raise CorruptionError(f"{path.name}: expected rising positions")
    return starts
