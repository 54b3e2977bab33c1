"""What every tokenizer gives: tokens of a text with their offsets, the text of tokens, and where words start."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.tasks.data_folder import resolved
from steeplechase.tasks.tokenizer.library import Pipeline, library
from steeplechase.tasks.vocabulary import VOCABULARY_FILE, read_pieces, special_pieces, vocabulary_text

SETTINGS_FILE = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class TokensWithOffsets:
    """The tokens of one text and, for each, its character span (start, end) in the text as given."""

    tokens: list[int]
    offsets: list[tuple[int, int]]


class Tokenizer(ABC):
    """Text to tokens and back; the characters "[MASK]" in a text are never encoded as the mask token."""

    kind: ClassVar[str]
    file_names: ClassVar[tuple[str, ...]] = (VOCABULARY_FILE,)
    """The vocabulary files, in their order."""
    spaces_in_tokens: ClassVar[bool] = False
    """Whether a token contains the space before its word; offsets are then without it."""

    def __init__(self, pieces: Sequence[str], lowercase: bool) -> None:
        self.pieces = tuple(pieces)
        self.lowercase = lowercase
        identifiers = {piece: index for index, piece in enumerate(pieces)}
        self.special_pieces = special_pieces(identifiers)
        """The pieces that stand for padding, the unknown, the first and the last token, and masks."""
        specials = [identifiers[piece] for piece in self.special_pieces]
        self.pad, self.unknown, self.classify, self.separate, self.mask = specials

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> Self:
        """Return the tokenizer of a folder's vocabulary files. Raises DataError where they are wrong."""
        return cls(read_pieces(folder / VOCABULARY_FILE), lowercase)

    @property
    def file_texts(self) -> tuple[str, ...]:
        """The text of each vocabulary file, in the order of their names; by default one piece to a line."""
        return (vocabulary_text(self.pieces),)

    @abstractmethod
    def _pipeline(self) -> Pipeline:
        """Return the library's pipeline: normalisation, splitting, the model, and its inverse."""

    @abstractmethod
    def _begins_word(self, piece: str) -> bool:
        """Return whether a piece is the first of its word, whatever is before it."""

    def _ends_word(self, piece: str) -> bool:
        """Return whether a piece is the last of its word, whatever is after it."""
        return False

    @cached_property
    def _library(self) -> Pipeline:
        return self._pipeline()

    @property
    def vocabulary_size(self) -> int:
        """Number of pieces, the five special ones included."""
        return len(self.pieces)

    @property
    def vocabulary_hash(self) -> str:
        """Return the sha256 of the vocabulary files."""
        return hashlib.sha256("".join(self.file_texts).encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """Return a sha256 over everything that determines the encoding of a text."""
        text = " ".join([self.vocabulary_hash, *(f"{name}={value}" for name, value in self.settings.items())])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def settings(self) -> dict[str, JsonValue]:
        """What the tokenizer has beside its vocabulary files."""
        return {"kind": self.kind, "lowercase": self.lowercase}

    @property
    def starts_word(self) -> tuple[bool, ...]:
        """Whether each token of the vocabulary is the first of a word, whatever is before it; special tokens are."""
        return tuple(piece in self.special_pieces or self._begins_word(piece) for piece in self.pieces)

    @property
    def ends_word(self) -> tuple[bool, ...]:
        """Whether each token of the vocabulary is the last of a word, whatever is after it; special tokens are."""
        return tuple(piece in self.special_pieces or self._ends_word(piece) for piece in self.pieces)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special tokens."""
        return [encoding.ids for encoding in self._library.encode_batch_fast(list(texts), add_special_tokens=False)]

    def encode_with_offsets(self, texts: Sequence[str]) -> list[TokensWithOffsets]:
        """Return the tokens of each text with their character spans, without special tokens.

        A character that is split into tokens is in the span of each; a token of white space alone has an empty span.
        """
        encodings = self._library.encode_batch(list(texts), add_special_tokens=False)
        if not self.spaces_in_tokens:
            return [TokensWithOffsets(encoding.ids, encoding.offsets) for encoding in encodings]
        return [
            TokensWithOffsets(
                encoding.ids, [self._span(text, *row) for row in zip(encoding.ids, encoding.offsets, strict=True)]
            )
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def _span(self, text: str, token: int, span: tuple[int, int]) -> tuple[int, int]:
        """Return the span of a token without the white space at its ends."""
        start, end = span
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        return start, end

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of the tokens without special ones: the text they were made of, as normalised."""
        specials = {self.pad, self.unknown, self.classify, self.separate, self.mask}
        text: str = self._library.decode([token for token in tokens if token not in specials])
        return text

    def library_document(self) -> str:
        """Return the library's own JSON, which other programs read: with special tokens around one text or two."""
        pipeline, classify, separate = self._pipeline(), self.pieces[self.classify], self.pieces[self.separate]
        pipeline.post_processor = library().processors.TemplateProcessing(
            single=f"{classify} $A {separate}",
            pair=f"{classify} $A {separate} $B:1 {separate}:1",
            special_tokens=[(classify, self.classify), (separate, self.separate)],
        )
        document: str = pipeline.to_str()
        return document

    def save(self, folder: Path) -> None:
        """Write the vocabulary files and tokenizer.json into an existing folder."""
        for name, text in zip(self.file_names, self.file_texts, strict=True):
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        counts = {"vocabulary_sha256": self.vocabulary_hash, "vocabulary_size": self.vocabulary_size}
        document = {**self.settings, **counts}
        (folder / SETTINGS_FILE).write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")


class TokenizerOption(Schema):
    """A declaration of a tokenizer: learned from the corpus's train split alone, or given."""

    kind: str

    @property
    def is_given(self) -> bool:
        """Whether the vocabulary is read from a path, so that no text is learned from."""
        return self.model_dump().get("path") is not None

    @property
    def lowercases(self) -> bool:
        """Whether texts lose case and accents, so that decoded ones have neither."""
        return bool(self.model_dump().get("lowercase"))

    @abstractmethod
    def inputs(self) -> JsonValue:
        """Return what determines the vocabulary, besides the texts and its size. Raises DataError for wrong files."""

    @abstractmethod
    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> Tokenizer:
        """Return the declared tokenizer; `texts`, those of the train split, are read only for training.

        Raises DataError if a given vocabulary is malformed or has more than `vocabulary_size` pieces.
        """


class LearnedOption(TokenizerOption):
    """A tokenizer that is learned from the corpus unless `path` names a given vocabulary."""

    training_version: ClassVar[int] = 1
    """Incremented when the vocabulary of the same texts changes."""
    path: str | None = None

    @abstractmethod
    def given(self, path: Path, vocabulary_size: int | None = None) -> Tokenizer:
        """Return the tokenizer of a path, of at most `vocabulary_size` pieces. Raises DataError for wrong files."""

    @abstractmethod
    def trained(self, texts: Iterable[str], vocabulary_size: int) -> Tokenizer:
        """Return a tokenizer that is trained on the texts, of exactly `vocabulary_size` pieces."""

    def inputs(self) -> JsonValue:
        """Return the settings, and the version of the training or the sha256 of the given files."""
        settings = self.model_dump(exclude={"path"})
        if self.path is None:
            return {**settings, "training_version": self.training_version}
        return {**settings, "sha256": self.given(resolved(self.path)).vocabulary_hash}

    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> Tokenizer:
        """Return the given tokenizer, or one trained on the texts, of exactly `vocabulary_size` pieces."""
        if self.path is not None:
            return self.given(resolved(self.path), vocabulary_size)
        return self.trained(texts, vocabulary_size)


def exactly(vocabulary_size: int, pieces: list[str]) -> list[str]:
    """Return the pieces. Raises DataError, with the size that is possible, if their number is another."""
    if len(pieces) != vocabulary_size:
        reason = f"the corpus gives {len(pieces)} pieces, the architecture has a vocabulary_size of {vocabulary_size}"
        raise DataError(f"{reason}. Write vocabulary_size: {len(pieces)}, or take a larger corpus")
    return pieces


def most_frequent(pieces: Iterable[str], count: int) -> list[str]:
    """Return the `count` most frequent pieces, equally frequent ones by code point. Raises DataError for none."""
    counts = Counter(pieces)
    if not counts:
        raise DataError("a tokenizer cannot be trained on no text: the corpus's train split is empty")
    return sorted(counts, key=lambda piece: (-counts[piece], piece))[: max(count, 0)]
