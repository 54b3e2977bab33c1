"""A given unigram model of SentencePiece with its own normalisation, as ALBERT's and XLNet's. Kudo 2018, 1804.10959.

Decoded text is the normalised text, with single spaces and none at the ends.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from steeplechase.foundation.atomic_files import read_regular
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
        return {"kind": self.kind, "sha256": SentencePiece.read(resolved(self.path), False).vocabulary_hash}

    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> "SentencePiece":
        """Return the tokenizer of the folder; the texts are not read."""
        folder = resolved(self.path)
        return SentencePiece(*read_scores(folder / SCORES_FILE, vocabulary_size), read_normalisation(folder))


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
