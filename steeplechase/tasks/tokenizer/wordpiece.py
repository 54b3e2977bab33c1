"""WordPiece: the longest piece first. Schuster and Nakajima 2012; BERT, arXiv 1810.04805: trained or given.

Decoded text is normalised as BERT does, with single spaces between words and around punctuation.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field

from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.data_folder import resolved
from steeplechase.tasks.tokenizer.library import Pipeline, bert_pipeline, bert_settings, library, pieces_in_order
from steeplechase.tasks.tokenizer.tokenizer import Tokenizer, TokenizerOption
from steeplechase.tasks.tokenizer_file import Settings
from steeplechase.tasks.vocabulary import (
    SPECIAL_TOKENS,
    VOCABULARY_FILE,
    alphabet_of,
    read_vocabulary,
    vocabulary_text,
)

TRAINING_VERSION = 1  # incremented when the vocabulary of the same texts changes
LONGEST_WORD_CHARACTERS = 100  # longer words are [UNK], as in BERT
MINIMUM_FREQUENCY = 2  # a piece that occurs once is dropped
CONTINUATION = "##"


class WordPieceTraining(TokenizerOption):
    """A WordPiece vocabulary learned from the corpus's train split alone."""

    kind: Literal["wordpiece"] = "wordpiece"
    """Chooses a WordPiece vocabulary learned from the corpus."""
    lowercase: bool = True
    """Lower-case the text and strip accents, as BERT's uncased vocabulary does."""

    def inputs(self) -> JsonValue:
        """Return the settings that determine the vocabulary, besides the texts and its size."""
        return {"kind": self.kind, "lowercase": self.lowercase, "training_version": TRAINING_VERSION}

    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> "WordPiece":
        """Return the trained tokenizer; a small corpus may give fewer pieces."""
        return WordPiece(_trained_pieces(list(texts), vocabulary_size, self.lowercase), self.lowercase)


def wordpiece_settings(lowercase: bool) -> Settings:
    """Return the settings of a tokenizer.json that tokenizes as `WordPiece` does."""
    return {
        ("model", "unk_token"): (SPECIAL_TOKENS[1],),
        ("model", "continuing_subword_prefix"): (CONTINUATION,),
        ("model", "max_input_chars_per_word"): (LONGEST_WORD_CHARACTERS,),
        **bert_settings(lowercase),
    }


class GivenVocabulary(TokenizerOption):
    """A WordPiece vocabulary from a file with one piece to a line, such as BERT's vocab.txt."""

    kind: Literal["vocabulary"] = "vocabulary"
    """Chooses a WordPiece vocabulary that is there already."""
    path: str = Field(examples=["vocab.txt"])
    """The vocabulary file, one piece to a line, special tokens first, or a tokenizer.json of WordPiece, or a folder
    with one of them; `$STEEPLECHASE_DATA` may be its beginning."""
    lowercase: bool = True
    """Lower-case the text and strip accents; has to fit the vocabulary."""

    def inputs(self) -> JsonValue:
        """Return the sha256 of the vocabulary; raises DataError where the file is wrong."""
        text = vocabulary_text(read_vocabulary(resolved(self.path), settings=wordpiece_settings(self.lowercase)))
        return {"kind": self.kind, "lowercase": self.lowercase, "sha256": hashlib.sha256(text.encode()).hexdigest()}

    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> "WordPiece":
        """Return the tokenizer of the file; the texts are not read."""
        return WordPiece(
            read_vocabulary(resolved(self.path), vocabulary_size, wordpiece_settings(self.lowercase)), self.lowercase
        )


class WordPiece(Tokenizer):
    """A WordPiece tokenizer; the characters "[MASK]" in a text are never encoded as the mask token."""

    kind = "wordpiece"

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> "WordPiece":
        """Return the tokenizer of a folder's vocabulary file. Raises DataError where it is wrong."""
        return cls(read_vocabulary(folder / VOCABULARY_FILE), lowercase)

    @property
    def settings(self) -> dict[str, JsonValue]:
        """What the tokenizer has beside its vocabulary file; the kind is left out, it was once the only one."""
        return {"lowercase": self.lowercase}

    def _pipeline(self) -> Pipeline:
        pipeline = _pipeline_of({piece: index for index, piece in enumerate(self.pieces)}, self.lowercase)
        pipeline.decoder = library().decoders.WordPiece(prefix=CONTINUATION, cleanup=False)
        return pipeline

    def _begins_word(self, piece: str) -> bool:
        return not piece.startswith(CONTINUATION)


def _trained_pieces(texts: list[str], vocabulary_size: int, lowercase: bool) -> list[str]:
    """Train with a fixed initial alphabet of one-character pieces, in sorted order.

    Otherwise the trainer numbers "##" pieces in the order of a randomly seeded hash table and breaks ties
    between merges by those numbers, so that two processes learn different vocabularies from the same texts.
    """
    untrained = _pipeline_of({"[UNK]": 0}, lowercase)
    assert untrained.normalizer is not None
    alphabet = alphabet_of(map(untrained.normalizer.normalize_str, texts), vocabulary_size)
    initial_pieces = [*SPECIAL_TOKENS, *alphabet, *(f"{CONTINUATION}{character}" for character in alphabet)]
    trainer = library().trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=MINIMUM_FREQUENCY,
        special_tokens=initial_pieces,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    untrained.train_from_iterator(texts, trainer)
    return pieces_in_order(untrained)


def _pipeline_of(identifiers: dict[str, int], lowercase: bool) -> Pipeline:
    model = library().models.WordPiece(
        identifiers, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD_CHARACTERS
    )
    return bert_pipeline(model, lowercase)
