"""Tokens of a split as one flat array on disk, [SEP] after every document; training reads it memory-mapped."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from steeplechase.tasks.progress import Progress, place
from steeplechase.tasks.stored_arrays import read_array
from steeplechase.tasks.tokenizer import Tokenizer

TEXTS_PER_BATCH = 512
TOKENS_PER_BLOCK = 2**22
TOKENIZING = "tokenizing"
LARGEST_SHORT_VOCABULARY = 65536  # limit of two bytes


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
