"""Reads the file of a SentencePiece model (`spiece.model`): pieces, scores, and the table of its normalisation.

The file is a message of protocol buffers, defined in sentencepiece_model.proto of github.com/google/sentencepiece;
the few fields that are needed are read here, so that no further library is.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steeplechase.foundation.atomic_files import read_bounded
from steeplechase.foundation.errors import DataError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protocol buffers."""
PIECES, TRAINER, NORMALISER = 1, 2, 3
"""Fields of the model."""
UNIGRAM = 1
"""The trainer's model type, also its default."""
LARGEST_MODEL_BYTES = 2**27
BYTE_PIECE = 6
"""The type of a piece that stands for one byte."""


@dataclass(frozen=True)
class SentencePieceModel:
    """What a SentencePiece model contains."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    character_table: bytes
    """The precompiled table of the normalisation; empty for none."""


def read_model(path: Path) -> SentencePieceModel:
    """Return the model of a file. Raises DataError unless it is a unigram model without byte pieces."""
    try:
        return _model(read_bounded(path, LARGEST_MODEL_BYTES))
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure
    except (IndexError, UnicodeDecodeError, ValueError, struct.error) as wrong:
        raise DataError(f"{path}: is not a SentencePiece model that can be read: {wrong}") from wrong


def _model(content: bytes) -> SentencePieceModel:
    pieces, scores, table = [], [], b""
    for field, value in _fields(content):
        if field == PIECES:
            parts = dict(_fields(_bytes(value)))
            if parts.get(3) == BYTE_PIECE:
                raise ValueError("it has pieces of single bytes")
            pieces.append(_bytes(parts.get(1, b"")).decode("utf-8"))
            scores.append(struct.unpack("<f", _bytes(parts.get(2, bytes(4))))[0])
        elif field == TRAINER and dict(_fields(_bytes(value))).get(3, UNIGRAM) != UNIGRAM:
            raise ValueError("it is not a unigram model")
        elif field == NORMALISER:
            table = _bytes(dict(_fields(_bytes(value))).get(2, b""))
    if not pieces:
        raise ValueError("it has no pieces")
    return SentencePieceModel(tuple(pieces), tuple(scores), table)


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of every field of a message; numbers of fixed width as their bytes."""
    place = 0
    while place < len(content):
        tag, place = _varint(content, place)
        if (wire := tag & 7) == VARINT:
            value, place = _varint(content, place)
            yield tag >> 3, value
            continue
        if wire == BYTES:
            length, place = _varint(content, place)
        else:
            length = {FIXED64: 8, FIXED32: 4}.get(wire, -1)
        if length < 0 or place + length > len(content):
            raise ValueError(f"a field at byte {place} is damaged")
        yield tag >> 3, content[place : place + length]
        place += length


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Return a number of variable width, seven bits a byte, and the place behind it."""
    value = shift = 0
    while True:
        byte = content[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise ValueError("a number where text is expected")
