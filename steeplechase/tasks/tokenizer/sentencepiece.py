"""A given unigram model of SentencePiece with its own normalisation, as ALBERT's and XLNet's. Kudo 2018, 1804.10959.

Decoded text is the normalised text, with single spaces and none at the ends.
"""

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from steeplechase.foundation.atomic_files import read_bounded, read_regular
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.data_folder import missing, resolved
from steeplechase.tasks.tokenizer.library import Pipeline, library
from steeplechase.tasks.tokenizer.tokenizer import TokenizerOption
from steeplechase.tasks.tokenizer.unigram import SPACE, Unigram
from steeplechase.tasks.vocabulary import SCORES_FILE, read_scores, scores_text

NORMALISATION_FILE = "normalisation.json"
STEPS = frozenset(
    ("Replace", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase", "Strip", "Precompiled", "Nmt")
)
"""The steps of a normalisation, as the library's JSON names them; `Precompiled` has SentencePiece's own table."""
Step = Mapping[str, JsonValue]


@dataclass(frozen=True)
class Normalisation:
    """What is done with a text before it is segmented."""

    steps: tuple[Step, ...]
    whole: tuple[str, ...] = ()
    """Pieces that are matched in the text first, as the library's added tokens; a word begins behind each."""

    @property
    def lowers(self) -> bool:
        """Whether letters become lower-case."""
        return any(step["type"] == "Lowercase" for step in self.steps)


class SentencePieceOption(TokenizerOption):
    """A given unigram model of SentencePiece with its own normalisation (ALBERT, XLNet)."""

    kind: Literal["sentencepiece"] = "sentencepiece"
    """Chooses a unigram model with the normalisation that it was trained with."""
    path: str = Field(examples=["imported_albert"])
    """Folder with unigram.vocab and normalisation.json, as `steeplechase import` writes it."""

    def inputs(self) -> JsonValue:
        """Return the sha256 of the files; raises DataError where they are wrong."""
        return {"kind": self.kind, "sha256": SentencePiece.read(self._folder(), False).vocabulary_hash}

    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> "SentencePiece":
        """Return the tokenizer of the folder; the texts are not read."""
        folder = self._folder()
        return SentencePiece(*read_scores(folder / SCORES_FILE, vocabulary_size), read_normalisation(folder))

    def _folder(self) -> Path:
        folder = resolved(self.path)
        if folder.is_file():
            raise DataError(
                f"{folder}: is a file; a folder with {SCORES_FILE} and {NORMALISATION_FILE} is needed, which "
                "`steeplechase import` writes from a checkpoint's folder"
            )
        return folder


class SentencePiece(Unigram):
    """A tokenizer by the most probable segmentation of text that is normalised step by step."""

    kind = "sentencepiece"
    file_names: ClassVar[tuple[str, ...]] = (SCORES_FILE, NORMALISATION_FILE)

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], normalisation: Normalisation) -> None:
        super().__init__(pieces, scores, normalisation.lowers)
        self.normalisation = normalisation

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> "SentencePiece":
        """Return the tokenizer of a folder's files. Raises DataError where they are wrong."""
        return cls(*read_scores(folder / SCORES_FILE), read_normalisation(folder))

    @property
    def file_texts(self) -> tuple[str, ...]:
        """The texts of the vocabulary and of the normalisation."""
        document = {"steps": [*self.normalisation.steps], "whole": [*self.normalisation.whole]}
        text = json.dumps(document, ensure_ascii=False, sort_keys=True)
        return scores_text(self.pieces, self.scores), f"{text}\n"

    def _pipeline(self) -> Pipeline:
        pipeline, door = super()._pipeline(), library()
        pipeline.normalizer = _normaliser(self.normalisation.steps)
        words = door.pre_tokenizers.WhitespaceSplit()
        pieces = door.pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")
        pipeline.pre_tokenizer = door.pre_tokenizers.Sequence([words, pieces])
        pipeline.add_tokens([door.AddedToken(piece, normalized=False) for piece in self.normalisation.whole])
        return pipeline


def read_normalisation(folder: Path) -> Normalisation:
    """Return the normalisation of a folder. Raises DataError where the file is wrong."""
    path = folder / NORMALISATION_FILE
    try:
        document = json.loads(read_regular(path))
    except FileNotFoundError as absent:
        raise missing(f"{path}: {absent.strerror}") from absent
    except (OSError, ValueError, RecursionError) as wrong:
        raise DataError(f"{path}: cannot be read as JSON") from wrong
    if not isinstance(document, dict) or document.keys() != {"steps", "whole"}:
        raise DataError(f"{path}: a mapping with steps and whole is needed")
    try:
        return checked_normalisation(document["steps"], document["whole"])
    except DataError as mistake:
        raise DataError([f"{path}: {line}" for line in mistake.lines]) from mistake


def checked_normalisation(steps: object, whole: object) -> Normalisation:
    """Return the normalisation. Raises DataError for steps that the library or this project does not read."""
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise DataError("a list of steps is needed, each a mapping with a type")
    if not isinstance(whole, list) or not all(isinstance(piece, str) for piece in whole):
        raise DataError("the pieces that are matched whole are a list of texts")
    unknown = [step.get("type") for step in steps if step.get("type") not in STEPS]
    if unknown:
        allowed = ", ".join(sorted(STEPS))
        raise DataError(f"{unknown[0]!r} is not a step that can be read; allowed: {allowed}")
    try:
        _normaliser(steps)
    except Exception as refusal:  # the library raises Exception itself
        raise DataError(f"the steps cannot be read: {refusal}") from refusal
    return Normalisation(tuple(steps), tuple(whole))


def _normaliser(steps: Sequence[Step]) -> Any:
    """Return the library's normaliser, which it reads as a part of a whole tokenizer alone."""
    document = json.loads(library().Tokenizer(library().models.Unigram()).to_str())
    document["normalizer"] = {"type": "Sequence", "normalizers": [*steps]}
    return library().Tokenizer.from_str(json.dumps(document)).normalizer


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
