"""Tagged words as arrays: the sequences of `encoding`, and where in them each word begins.

The vector of a word is that of its first subword (Devlin et al. 2018, arXiv 1810.04805, section 5.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foundation.errors import CorruptionError
from tasks.labelled.encoding import EncodedExamples, IntegerArray, encode_examples, load_array, load_examples
from tasks.labelled.encoding import save_examples as save_sequences
from tasks.labelled.task import Example
from tasks.tokenizer import WordPiece

NO_POSITION = -1  # of a word that was cut off, or of which the tokenizer leaves nothing
WORDS_FILE = "words.npy"


@dataclass(frozen=True)
class EncodedWords:
    """Sentences as sequences, and their words in order."""

    sequences: EncodedExamples
    words: IntegerArray  # [word 3]: sequence, position of the first subword or -1, tag

    @property
    def tags(self) -> list[int]:
        """Return the tag of every word."""
        return [int(tag) for tag in self.words[:, 2]]

    @property
    def sentences(self) -> list[int]:
        """Return the sentence of every word."""
        return [int(sentence) for sentence in self.words[:, 0]]


def encode_words(examples: Sequence[Example], tokenizer: WordPiece, length: int) -> EncodedWords:
    """Return tagged sentences encoded to `length` tokens; words behind that have no position.

    Raises ValueError if `length` has no room for one token.
    """
    sequences = encode_examples(examples, "single", tokenizer, length)
    offsets = tokenizer.encode_with_offsets([example.first for example in examples])
    rows: list[tuple[int, int, int]] = []
    for number, (example, found) in enumerate(zip(examples, offsets, strict=True)):
        first_tokens = _first_tokens(example.first, [start for start, _ in found.offsets])
        assert len(first_tokens) == len(example.tags)
        for token, tag in zip(first_tokens, example.tags, strict=True):
            fits = token is not None and token + 2 < length  # behind [CLS], and [SEP] behind it
            rows.append((number, token + 1 if token is not None and fits else NO_POSITION, tag))
    return EncodedWords(sequences, np.asarray(rows, dtype=np.int32).reshape(-1, 3))


def _first_tokens(text: str, starts: Sequence[int]) -> list[int | None]:
    """Return, for each word of a text, the first token that starts inside it; None where no token does."""
    found: list[int | None] = []
    token = end = 0
    for word in text.split(" "):
        begin, end = end, end + len(word) + 1
        while token < len(starts) and starts[token] < begin:
            token += 1
        found.append(token if token < len(starts) and starts[token] < end else None)
    return found


def save_words(encoded: EncodedWords, folder: Path) -> None:
    """Write the sequences and the words into an existing folder."""
    save_sequences(encoded.sequences, folder)
    np.save(folder / WORDS_FILE, encoded.words.astype("<i4"), allow_pickle=False)


def load_words(folder: Path) -> EncodedWords:
    """Return what `save_words` wrote; raises CorruptionError where a file is damaged or missing."""
    sequences = load_examples(folder)
    try:
        return EncodedWords(sequences, load_array(folder / WORDS_FILE))
    except (OSError, ValueError, EOFError) as damage:
        raise CorruptionError(f"{folder.name}: {damage!r}") from damage
