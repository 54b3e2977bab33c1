"""Tokens of a split as one flat array on disk, [SEP] after every document; training reads it memory-mapped.

Beside it is where the sentences begin, for objectives that read pairs of segments. A file that is not an array of
the declared type and axes is a damage of the stage's files.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from steeplechase.foundation.errors import CorruptionError, damage_refused
from steeplechase.tasks.progress import Progress, place
from steeplechase.tasks.tokenizer import Tokenizer, TokensWithOffsets

TEXTS_PER_BATCH = 512
TOKENS_PER_BLOCK = 2**22
STARTS_PER_BATCH = 512
TOKENIZING = "tokenizing"
LARGEST_SHORT_VOCABULARY = 65536  # limit of two bytes
BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\s*\n\s*")
"""White space after a full stop, a question or an exclamation mark, perhaps quoted; and every line break."""


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Numbers of written tokens and texts; `unknown` counts [UNK]."""

    documents: int
    tokens: int
    unknown: int


def write_tokens(
    texts: Iterable[str], text_count: int, tokenizer: Tokenizer, path: Path, progress: Progress
) -> TokenCounts:
    """Write the tokens of all texts as a .npy file of little-endian uint16, or uint32 for a large vocabulary.

    `text_count` is used for progress only. Memory is bounded by one batch of texts.
    """
    dtype = np.dtype("<u2" if tokenizer.vocabulary_size <= LARGEST_SHORT_VOCABULARY else "<u4")
    documents = tokens = unknown = 0
    with path.open("wb") as file:
        start = _write_header(file, 0, dtype)
        remaining = iter(texts)
        while batch := list(islice(remaining, TEXTS_PER_BATCH)):
            progress(place(TOKENIZING, "text", documents, text_count), min(documents / max(text_count, 1), 1.0))
            flat = [token for text in tokenizer.encode(batch) for token in (*text, tokenizer.separate)]
            block = np.array(flat, dtype=dtype)
            file.write(block.tobytes())
            documents += len(batch)
            tokens += block.size
            unknown += int(np.count_nonzero(block == tokenizer.unknown))
        file.seek(0)
        assert _write_header(file, tokens, dtype) == start, "numpy leaves room for the length to grow"
    progress(TOKENIZING, 1.0)
    return TokenCounts(documents, tokens, unknown)


def unigram_entropy(tokens: np.ndarray, tokenizer: Tokenizer) -> float | None:
    """Return the entropy of token frequencies in nats: the least loss of a model that knows these alone.

    [SEP] is left out because it is never predicted; None without other tokens. Memory is bounded by one block.
    """
    counts = np.zeros(tokenizer.vocabulary_size, np.int64)
    for first in range(0, len(tokens), TOKENS_PER_BLOCK):
        counts += np.bincount(tokens[first : first + TOKENS_PER_BLOCK], minlength=len(counts))
    counts[tokenizer.separate] = 0
    shares = counts[counts > 0] / max(1, counts.sum())
    return float(-(shares * np.log(shares)).sum()) if len(shares) else None


def _write_header(file: BinaryIO, length: int, dtype: np.dtype[np.unsignedinteger]) -> int:
    header = {"descr": dtype.str, "fortran_order": False, "shape": (length,)}
    npy_format.write_array_header_1_0(file, header)
    return file.tell()


def read_tokens(path: Path) -> np.ndarray:
    """Return the tokens [token] memory-mapped and read-only. Raises CorruptionError if it is not such a file."""
    tokens: np.ndarray = read_array(path, ("<u2", "<u4"), 1, mapped=True)
    return tokens


def sentence_file(folder: Path, split: str) -> Path:
    """Return the file of a split's sentence starts in the folder of the tokens stage."""
    return folder / f"{split}.sentences.npy"


def write_sentence_starts(texts: Iterable[str], tokenizer: Tokenizer, path: Path) -> int:
    """Write the position of the first token of every sentence in the stream that `write_tokens` writes.

    Return the number of texts of one sentence, of which no pair of two can be made.
    """
    position, single, starts = 0, 0, [np.empty(0, np.int64)]
    remaining = iter(texts)
    while batch := list(islice(remaining, STARTS_PER_BATCH)):
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


def read_array(path: Path, types: tuple[str, ...], axes: int, *, mapped: bool = False) -> Any:
    """Return an array of one of the types with so many axes, memory-mapped and read-only where that is asked for.

    Raises CorruptionError if it is not such a file.
    """
    with damage_refused(path.name):
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    if array.ndim != axes or array.dtype.str not in types:
        expected = f"{' or '.join(types)} with {axes} {'axis' if axes == 1 else 'axes'}"
        raise CorruptionError(f"{path.name}: an array {array.shape} of {array.dtype}, expected {expected}")
    return array
