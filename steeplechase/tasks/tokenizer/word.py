"""Whole words and punctuation marks, the most frequent ones of the corpus; the rest is unknown. Transformer-XL.

Decoded text is normalised as BERT does, with single spaces between words and around punctuation.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.data_folder import resolved
from steeplechase.tasks.tokenizer.library import Pipeline, bert_pipeline, library
from steeplechase.tasks.tokenizer.tokenizer import Tokenizer, TokenizerOption, exactly, most_frequent
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS, VOCABULARY_FILE, read_pieces, vocabulary_text

TRAINING_VERSION = 1  # incremented when the vocabulary of the same texts changes


class WordOption(TokenizerOption):
    """The most frequent words of the corpus's train split, or a given list of words."""

    kind: Literal["word"] = "word"
    """Chooses whole words."""
    path: str | None = None
    """A given vocabulary, one word to a line. Default: the most frequent words of the corpus."""
    lowercase: bool = True
    """Lower-case the text and strip accents."""

    def inputs(self) -> JsonValue:
        """Return the settings, or the sha256 of the given file; raises DataError where it is wrong."""
        if self.path is None:
            return {"kind": self.kind, "lowercase": self.lowercase, "training_version": TRAINING_VERSION}
        given = Word(read_pieces(resolved(self.path)), self.lowercase)
        return {"kind": self.kind, "lowercase": self.lowercase, "sha256": given.vocabulary_hash}

    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> "Word":
        """Return the given tokenizer, or one of exactly `vocabulary_size` words."""
        if self.path is not None:
            return Word(read_pieces(resolved(self.path), vocabulary_size), self.lowercase)
        split = bert_pipeline(library().models.WordLevel(), self.lowercase)
        words = most_frequent(_words(split, texts), vocabulary_size - len(SPECIAL_TOKENS))
        return Word(exactly(vocabulary_size, [*SPECIAL_TOKENS, *words]), self.lowercase)


def _words(split: Pipeline, texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        normalised = split.normalizer.normalize_str(text)
        yield from (word for word, _ in split.pre_tokenizer.pre_tokenize_str(normalised))


class Word(Tokenizer):
    """A tokenizer whose tokens are whole words."""

    kind = "word"

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> "Word":
        """Return the tokenizer of a folder's vocabulary file. Raises DataError where it is wrong."""
        return cls(read_pieces(folder / VOCABULARY_FILE), lowercase)

    @property
    def file_texts(self) -> tuple[str, ...]:
        """The text of vocab.txt."""
        return (vocabulary_text(self.pieces),)

    def _pipeline(self) -> Pipeline:
        identifiers = {piece: number for number, piece in enumerate(self.pieces)}
        model = library().models.WordLevel(identifiers, unk_token=self.pieces[self.unknown])
        return bert_pipeline(model, self.lowercase)

    def _begins_word(self, piece: str) -> bool:
        return True
