"""Single characters, the most frequent of the corpus (enwik8, text8). Al-Rfou et al. 2019, arXiv 1808.04444.

Decoded text is the text in lower case if so declared, with every white space as a space and no control characters.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.data_folder import resolved
from steeplechase.tasks.tokenizer.library import Pipeline, library
from steeplechase.tasks.tokenizer.tokenizer import Tokenizer, TokenizerOption, exactly, most_frequent
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS, VOCABULARY_FILE, read_pieces, vocabulary_text

TRAINING_VERSION = 1  # incremented when the vocabulary of the same texts changes
SPACE = "▁"
"""A space in the vocabulary file, in which no piece is white space."""


class CharacterOption(TokenizerOption):
    """The characters of the corpus's train split, or a given list of them."""

    kind: Literal["character"] = "character"
    """Chooses single characters."""
    path: str | None = None
    """A given vocabulary, one character to a line, the space as "▁". Default: the characters of the corpus."""
    lowercase: bool = True
    """Lower-case the text and strip accents."""

    def inputs(self) -> JsonValue:
        """Return the settings, or the sha256 of the given file; raises DataError where it is wrong."""
        if self.path is None:
            return {"kind": self.kind, "lowercase": self.lowercase, "training_version": TRAINING_VERSION}
        given = Character(read_pieces(resolved(self.path)), self.lowercase)
        return {"kind": self.kind, "lowercase": self.lowercase, "sha256": given.vocabulary_hash}

    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> "Character":
        """Return the given tokenizer, or one of exactly `vocabulary_size` pieces."""
        if self.path is not None:
            return Character(read_pieces(resolved(self.path), vocabulary_size), self.lowercase)
        normalise = _normaliser(self.lowercase).normalize_str
        characters = (character for text in texts for character in normalise(text))
        pieces = [*SPECIAL_TOKENS, *most_frequent(characters, vocabulary_size - len(SPECIAL_TOKENS))]
        return Character(exactly(vocabulary_size, pieces), self.lowercase)


class Character(Tokenizer):
    """A tokenizer whose tokens are single characters."""

    kind = "character"

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> "Character":
        """Return the tokenizer of a folder's vocabulary file. Raises DataError where it is wrong."""
        return cls(read_pieces(folder / VOCABULARY_FILE), lowercase)

    @property
    def file_texts(self) -> tuple[str, ...]:
        """The text of vocab.txt."""
        return (vocabulary_text(self.pieces),)

    def _pipeline(self) -> Pipeline:
        door = library()
        identifiers = {piece: number for number, piece in enumerate(self.pieces)}
        pipeline: Pipeline = door.Tokenizer(door.models.WordLevel(identifiers, unk_token=self.pieces[self.unknown]))
        pipeline.normalizer = _normaliser(self.lowercase)
        pipeline.pre_tokenizer = door.pre_tokenizers.Split(door.Regex(r"[\s\S]"), "isolated")
        pipeline.decoder = door.decoders.Sequence([door.decoders.Replace(SPACE, " "), door.decoders.Fuse()])
        return pipeline

    def _begins_word(self, piece: str) -> bool:
        return False  # the space before it ends one

    def _ends_word(self, piece: str) -> bool:
        return piece == SPACE


def _normaliser(lowercase: bool) -> Any:
    normalizers = library().normalizers
    cleaned = normalizers.BertNormalizer(handle_chinese_chars=False, lowercase=lowercase)
    return normalizers.Sequence([cleaned, normalizers.Replace(" ", SPACE)])
