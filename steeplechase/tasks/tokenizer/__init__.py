"""Tokenizers: one file per option, with its declaration and its pipeline; trained on the corpus, or given."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from steeplechase.foundation.errors import CorruptionError, damage_refused
from steeplechase.foundation.schema import OPTION
from steeplechase.tasks.tokenizer.bpe import Bpe, BpeOption
from steeplechase.tasks.tokenizer.byte_bpe import ByteBpe, ByteBpeOption
from steeplechase.tasks.tokenizer.frequent import Character, CharacterOption, Word, WordOption
from steeplechase.tasks.tokenizer.sentencepiece import SentencePiece, SentencePieceOption
from steeplechase.tasks.tokenizer.tokenizer import SETTINGS_FILE, Tokenizer, TokensWithOffsets
from steeplechase.tasks.tokenizer.unigram import Unigram, UnigramOption
from steeplechase.tasks.tokenizer.wordpiece import (
    LONGEST_WORD_CHARACTERS,
    GivenVocabulary,
    WordPiece,
    WordPieceTraining,
)
from steeplechase.tasks.vocabulary import VOCABULARY_FILE

TokenizerDeclaration = Annotated[
    WordPieceTraining
    | GivenVocabulary
    | BpeOption
    | ByteBpeOption
    | UnigramOption
    | SentencePieceOption
    | WordOption
    | CharacterOption,
    OPTION,
]


KINDS: Mapping[str, type[Tokenizer]] = MappingProxyType(
    {each.kind: each for each in (WordPiece, Bpe, ByteBpe, Unigram, SentencePiece, Word, Character)}
)
"""The tokenizers by the kind that a saved one names."""


def train_tokenizer(declaration: TokenizerDeclaration, texts: Iterable[str], vocabulary_size: int) -> Tokenizer:
    """Return the declared tokenizer; `texts`, those of the train split, are read only for training.

    Raises DataError if a given vocabulary is malformed or has more than `vocabulary_size` pieces, or if the texts
    give fewer pieces than `vocabulary_size`; WordPiece alone may have fewer.
    """
    return declaration.tokenizer(texts, vocabulary_size)


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return a saved tokenizer; raises CorruptionError if its files are inconsistent."""
    with damage_refused(folder.name):
        settings = json.loads((folder / SETTINGS_FILE).read_text())
        tokenizer, lowercase = KINDS[settings.get("kind", WordPiece.kind)], bool(settings["lowercase"])
        expected = str(settings["vocabulary_sha256"])
        actual = hashlib.sha256(b"".join((folder / name).read_bytes() for name in tokenizer.file_names)).hexdigest()
        if actual == expected:
            return tokenizer.read(folder, lowercase)
    files = " and ".join(tokenizer.file_names)
    raise CorruptionError(f"{files}: sha256 {actual[:12]}…, {SETTINGS_FILE} recorded {expected[:12]}…")


__all__ = [
    "KINDS",
    "LONGEST_WORD_CHARACTERS",
    "SETTINGS_FILE",
    "VOCABULARY_FILE",
    "Bpe",
    "BpeOption",
    "ByteBpe",
    "ByteBpeOption",
    "Character",
    "CharacterOption",
    "GivenVocabulary",
    "SentencePiece",
    "SentencePieceOption",
    "Tokenizer",
    "TokenizerDeclaration",
    "TokensWithOffsets",
    "Unigram",
    "UnigramOption",
    "Word",
    "WordOption",
    "WordPiece",
    "WordPieceTraining",
    "load_tokenizer",
    "train_tokenizer",
]
