"""WordPiece (Schuster and Nakajima 2012; BERT, arXiv 1810.04805): trained or given. Only import of `tokenizers`."""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from foundation.errors import CorruptionError
from foundation.schema import OPTION, JsonValue, Schema
from tasks.data_folder import resolved
from tasks.vocabulary import SPECIAL_TOKENS, read_vocabulary, vocabulary_text, word_piece_alphabet

if TYPE_CHECKING:
    import numpy as np
    import tokenizers
    from numpy.typing import NDArray

TRAINING_VERSION = 1  # incremented when the vocabulary of the same texts changes
VOCABULARY_FILE = "vocab.txt"
SETTINGS_FILE = "tokenizer.json"
CONTINUATION = "##"  # before a piece that is not a word's first
LONGEST_WORD_CHARACTERS = 100  # longer words are [UNK], as in BERT
MINIMUM_FREQUENCY = 2  # a piece that occurs once is dropped


class WordPieceTraining(Schema):
    """A vocabulary learned from the corpus's train split alone."""

    kind: Literal["wordpiece"] = "wordpiece"
    """Chooses a WordPiece vocabulary learned from the corpus."""
    lowercase: bool = True
    """Lower-case the text and strip accents, as BERT's uncased vocabulary does."""

    def inputs(self) -> JsonValue:
        """Return the settings that determine the vocabulary, besides the texts and its size."""
        return {"kind": self.kind, "lowercase": self.lowercase, "training_version": TRAINING_VERSION}


class GivenVocabulary(Schema):
    """A vocabulary from a file with one piece to a line, such as BERT's vocab.txt."""

    kind: Literal["vocabulary"] = "vocabulary"
    """Chooses a WordPiece vocabulary that is there already."""
    path: str
    """The vocabulary file, one piece to a line, special tokens first; `$STEEPLECHASE_DATA` may be its beginning."""
    lowercase: bool = True
    """Lower-case the text and strip accents; has to fit the vocabulary."""

    def inputs(self) -> JsonValue:
        """Return the sha256 of the vocabulary; raises DataError where the file is wrong."""
        text = vocabulary_text(read_vocabulary(resolved(self.path)))
        return {"kind": self.kind, "lowercase": self.lowercase, "sha256": hashlib.sha256(text.encode()).hexdigest()}


TokenizerDeclaration = Annotated[WordPieceTraining | GivenVocabulary, OPTION]


@dataclass(frozen=True, slots=True)
class TokensWithOffsets:
    """The tokens of one text and, for each, its character span (start, end) in the text as given."""

    tokens: list[int]
    offsets: list[tuple[int, int]]


class WordPiece:
    """A WordPiece tokenizer; the characters "[MASK]" in a text are never encoded as the mask token."""

    def __init__(self, pieces: Sequence[str], lowercase: bool) -> None:
        self.pieces = tuple(pieces)
        self.lowercase = lowercase
        identifiers = {piece: index for index, piece in enumerate(pieces)}
        self.pad, self.unknown, self.classify, self.separate, self.mask = map(identifiers.__getitem__, SPECIAL_TOKENS)
        self._tokenizer = _tokenizer_of(identifiers, lowercase)

    @property
    def vocabulary_size(self) -> int:
        """Number of pieces, the five special ones included; may be below the requested size on a small corpus."""
        return len(self.pieces)

    @cached_property
    def continuations(self) -> "NDArray[np.bool_]":
        """Whether a piece continues a word, by token; special tokens and [UNK] do not [vocab]."""
        import numpy as np  # here, because declarations do without

        return np.array([piece.startswith(CONTINUATION) for piece in self.pieces])

    @property
    def vocabulary_hash(self) -> str:
        """Return the sha256 of vocab.txt."""
        return hashlib.sha256(vocabulary_text(self.pieces).encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """Return a sha256 over everything that determines the encoding of a text."""
        return hashlib.sha256(f"{self.vocabulary_hash} lowercase={self.lowercase}".encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special tokens."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def encode_with_offsets(self, texts: Sequence[str]) -> list[TokensWithOffsets]:
        """Return the tokens of each text with their character spans, without special tokens."""
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [TokensWithOffsets(encoding.ids, encoding.offsets) for encoding in encodings]

    def save(self, folder: Path) -> None:
        """Write vocab.txt and tokenizer.json into an existing folder."""
        (folder / VOCABULARY_FILE).write_text(vocabulary_text(self.pieces), encoding="utf-8", newline="\n")
        settings = {
            "lowercase": self.lowercase,
            "vocabulary_sha256": self.vocabulary_hash,
            "vocabulary_size": self.vocabulary_size,
        }
        (folder / SETTINGS_FILE).write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")


def load_tokenizer(folder: Path) -> WordPiece:
    """Return a saved tokenizer; raises CorruptionError if its files are inconsistent."""
    try:
        settings = json.loads((folder / SETTINGS_FILE).read_text())
        lowercase, expected = bool(settings["lowercase"]), str(settings["vocabulary_sha256"])
        actual = hashlib.sha256((folder / VOCABULARY_FILE).read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError) as damage:
        raise CorruptionError(f"{folder.name}: {damage!r}") from damage
    if actual != expected:
        raise CorruptionError(f"{VOCABULARY_FILE}: sha256 {actual[:12]}…, {SETTINGS_FILE} recorded {expected[:12]}…")
    return WordPiece(read_vocabulary(folder / VOCABULARY_FILE), lowercase)


def train_tokenizer(
    declaration: WordPieceTraining | GivenVocabulary, texts: Iterable[str], vocabulary_size: int
) -> WordPiece:
    """Return the declared tokenizer; `texts`, those of the train split, are read only for training.

    Raises DataError if a given vocabulary is malformed or has more than `vocabulary_size` pieces.
    """
    if isinstance(declaration, GivenVocabulary):
        pieces = read_vocabulary(resolved(declaration.path), vocabulary_size)
        return WordPiece(pieces, declaration.lowercase)
    return WordPiece(_trained_pieces(list(texts), vocabulary_size, declaration.lowercase), declaration.lowercase)


def _trained_pieces(texts: list[str], vocabulary_size: int, lowercase: bool) -> list[str]:
    """Train with a fixed initial alphabet of one-character pieces, in sorted order.

    Otherwise the trainer numbers "##" pieces in the order of a randomly seeded hash table and breaks ties
    between merges by those numbers, so that two processes learn different vocabularies from the same texts.
    """
    _without_threads()
    from tokenizers import trainers

    untrained = _tokenizer_of({"[UNK]": 0}, lowercase)
    assert untrained.normalizer is not None
    alphabet = word_piece_alphabet(map(untrained.normalizer.normalize_str, texts), vocabulary_size)
    initial_pieces = [*SPECIAL_TOKENS, *alphabet, *(f"##{character}" for character in alphabet)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=MINIMUM_FREQUENCY,
        special_tokens=initial_pieces,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    untrained.train_from_iterator(texts, trainer)
    identifiers = untrained.get_vocab(with_added_tokens=False)
    return sorted(identifiers, key=identifiers.__getitem__)


def _tokenizer_of(identifiers: dict[str, int], lowercase: bool) -> "tokenizers.Tokenizer":
    _without_threads()
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    model = models.WordPiece(identifiers, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD_CHARACTERS)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _without_threads() -> None:
    """Keep the library's own threads off unless the user asked for them: workers share the machine."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
