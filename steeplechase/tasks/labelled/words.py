"""Encodes tagged words: the sequences of `encoding`, and the position of each word's first subword.

The first subword represents a word, as in BERT (Devlin et al. 2018, arXiv 1810.04805, section 5.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steeplechase.tasks.labelled.encoding import (
    EncodedExamples,
    IntegerArray,
    encode_examples,
    load_array,
    load_examples,
)
from steeplechase.tasks.labelled.encoding import save_examples as save_sequences
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.tokenizer import Tokenizer

NO_POSITION = -1  # of a word that was truncated, or that has no subwords
WORDS_FILE = "words.npy"
OUTSIDE = "O"  # tag of a word outside all entities


@dataclass(frozen=True)
class EncodedWords:
    """Encoded sentences and their words, in order."""

    sequences: EncodedExamples
    words: IntegerArray  # [word 3]; sequence, position of the first subword or -1, tag

    @property
    def tags(self) -> list[int]:
        """The tag of every word, an index into the task's labels."""
        return [int(tag) for tag in self.words[:, 2]]

    @property
    def sentences(self) -> list[int]:
        """The sequence of every word."""
        return [int(sentence) for sentence in self.words[:, 0]]

    def targets(self, no_tag: int) -> IntegerArray:
        """Return the tag of every token [sequence length]: a word's on its first subword, `no_tag` on all others."""
        targets = np.full(self.sequences.tokens.shape, no_tag, dtype=np.int32)
        sequence, position, tag = np.asarray(self.words)[np.asarray(self.words)[:, 1] != NO_POSITION].T
        targets[sequence, position] = tag
        return targets

    def default_tag(self, labels: Sequence[str]) -> int:
        """Return the tag of words without a position: `O`, no entity; the most frequent tag if there is no `O`.

        So the entities of truncated words are missed.
        """
        return labels.index(OUTSIDE) if OUTSIDE in labels else int(np.bincount(self.words[:, 2]).argmax())


def encode_words(examples: Sequence[Example], tokenizer: Tokenizer, length: int) -> EncodedWords:
    """Return tagged sentences encoded to `length` tokens; truncated words have no position.

    Raises ValueError if `length` is too small for one token.
    """
    sequences = encode_examples(examples, "single", tokenizer, length)
    offsets = tokenizer.encode_with_offsets([example.first for example in examples])
    rows: list[tuple[int, int, int]] = []
    for sequence, (example, encoded) in enumerate(zip(examples, offsets, strict=True)):
        first_tokens = _first_tokens(example.first, [start for start, _ in encoded.offsets])
        assert len(first_tokens) == len(example.tags)
        for token, tag in zip(first_tokens, example.tags, strict=True):
            fits = token is not None and token + 2 < length  # between [CLS] and [SEP]
            rows.append((sequence, token + 1 if token is not None and fits else NO_POSITION, tag))
    return EncodedWords(sequences, np.asarray(rows, dtype=np.int32).reshape(-1, 3))


def _first_tokens(text: str, starts: Sequence[int]) -> list[int | None]:
    """Return, for each word of a text, the first token that starts in it; None if there is none.

    `starts` has the first character of every token.
    """
    first_tokens: list[int | None] = []
    token = end = 0
    for word in text.split(" "):
        start, end = end, end + len(word) + 1
        while token < len(starts) and starts[token] < start:
            token += 1
        first_tokens.append(token if token < len(starts) and starts[token] < end else None)
    return first_tokens


def save_words(encoded: EncodedWords, folder: Path) -> None:
    """Write the sequences, as `save_examples` does, and the words into an existing folder."""
    save_sequences(encoded.sequences, folder)
    np.save(folder / WORDS_FILE, encoded.words.astype("<i4"), allow_pickle=False)


def load_words(folder: Path) -> EncodedWords:
    """Return saved words; raises CorruptionError if a file is damaged or missing."""
    return EncodedWords(load_examples(folder), load_array(folder / WORDS_FILE))
