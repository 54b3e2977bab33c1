"""Rarified examples: the label depends on a word, which is replaced by a rare synonym.

Schick and Schütze 2020, BERTRAM, arXiv 1910.07181, section 4.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.tokenizer import Tokenizer, TokensWithOffsets
from steeplechase.tasks.tokenizer.library import Pipeline
from steeplechase.tasks.tokenizer.word_boundaries import boundaries_of

WORD = re.compile(r"\w+")
DRAWING_SEED = 19100718  # arbitrary; independent of the seeds of an experiment
Classifier = Callable[[Sequence[Example]], Sequence[int]]
"""From examples to labels."""


@dataclass(frozen=True)
class Place:
    """A word of an example: a side, first or second, and the characters from `start` to `end`."""

    side: str
    start: int
    end: int

    def word_in(self, example: Example) -> str:
        """Return the word at the place."""
        return str(getattr(example, self.side))[self.start : self.end]

    def with_word(self, example: Example, word: str) -> Example:
        """Return the example with another word at the place, or without one."""
        text = str(getattr(example, self.side))
        changed = f"{text[: self.start]}{word}{text[self.end :]}"
        return replace(example, first=changed) if self.side == "first" else replace(example, second=changed)


@dataclass(frozen=True)
class Rarified:
    """An example that was kept, with the word that was replaced."""

    example: Example
    """With the synonym."""
    original: Example
    place: Place
    """Of the word in the original."""
    synonym: str
    """In lower case."""


def rare_synonyms(
    synonyms: Mapping[str, Sequence[str]], counts: Mapping[str, int], fewest: int, rarer_than: int
) -> dict[str, tuple[str, ...]]:
    """Return for each frequent word its synonyms with `fewest` occurrences or more, and fewer than `rarer_than`.

    Words without any are left out.
    """
    rare = {
        word: tuple(each for each in others if fewest <= counts.get(each, 0) < rarer_than)
        for word, others in synonyms.items()
        if counts.get(word, 0) >= rarer_than
    }
    return {word: others for word, others in rare.items() if others}


def rarify(
    examples: Sequence[Example], classify: Classifier, synonyms: Mapping[str, Sequence[str]]
) -> tuple[Rarified, ...]:
    """Return the examples that the classifier has right, and wrong once a word with a rare synonym is masked.

    The first such word of an example is replaced by one of its synonyms, drawn by the example's number. The case of
    the first letter is kept; the label is the original's.
    """
    right = [
        (number, example)
        for number, (example, found) in enumerate(zip(examples, classify(examples), strict=True))
        if found == example.label
    ]
    places = [[*_places(example, synonyms)] for _, example in right]
    masked = [each.with_word(example, "") for (_, example), row in zip(right, places, strict=True) for each in row]
    labels = iter(classify(masked))
    kept = []
    for (number, example), row in zip(right, places, strict=True):
        found = zip(row, [*islice(labels, len(row))], strict=True)
        place = next((place for place, label in found if label != example.label), None)
        if place is not None:
            word = place.word_in(example)
            choices = synonyms[word.lower()]
            synonym = choices[int(stream(DRAWING_SEED, "rarification", number).integers(len(choices)))]
            shown = synonym.capitalize() if word[0].isupper() else synonym
            kept.append(Rarified(place.with_word(example, shown), example, place, synonym))
    return tuple(kept)


def _places(example: Example, synonyms: Mapping[str, Sequence[str]]) -> Iterator[Place]:
    for side in ("first", "second"):
        for match in WORD.finditer(getattr(example, side) or ""):
            if match.group().lower() in synonyms:
                yield Place(side, match.start(), match.end())


Tokens = NDArray[np.integer]


def word_counts(words: Sequence[str], stream: Tokens, tokenizer: Tokenizer) -> Mapping[str, int]:
    """Return how often each word occurs as a whole word; with a cased vocabulary, in the given case."""
    pieces = [tuple(each) for each in tokenizer.encode(list(words))]
    tokens = np.asarray(stream).astype(np.int64)
    starts = np.flatnonzero(boundaries_of(tokenizer).starts(tokens))
    lengths = np.diff(starts, append=len(tokens))
    found: dict[tuple[int, ...], int] = {}
    for length in sorted({len(each) for each in pieces} - {0}):
        rows = tokens[starts[lengths == length][:, None] + np.arange(length)]
        wanted = np.array([each for each in pieces if len(each) == length])
        rows = rows[np.isin(rows[:, 0], wanted[:, 0])]
        unique, counts = np.unique(rows, axis=0, return_counts=True)
        found |= {tuple(row): count for row, count in zip(unique.tolist(), counts.tolist(), strict=True)}
    return {word: found.get(each, 0) for word, each in zip(words, pieces, strict=True)}


SLASH = "/"


class TokenizerWithWords(Tokenizer):
    """Encodes each of `words`, in any case, as one token: `vocabulary_size` plus its number among them.

    With `slash`, a word keeps its pieces, and a slash and its token follow: two tokens more. Only whole words are
    found; the text between them is encoded by the given tokenizer, without the white space before a word.
    """

    kind = "with_words"

    def __init__(self, tokenizer: Tokenizer, words: Sequence[str], slash: bool) -> None:
        """Raise DataError if the vocabulary has no slash and one is needed."""
        super().__init__(tokenizer.pieces, tokenizer.lowercase)
        self._inner, self._slash = tokenizer, slash
        self._tokens = {word: tokenizer.vocabulary_size + number for number, word in enumerate(words)}
        (self._between,) = tokenizer.encode([SLASH]) if slash else ([],)
        if slash and (len(self._between) != 1 or self._between[0] == tokenizer.unknown):
            raise DataError("rarified, usage slash: the vocabulary has no slash of one token; use replace")

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> "TokenizerWithWords":
        """Refuse: it is made of a saved tokenizer and never saved itself."""
        raise NotImplementedError

    @property
    def file_texts(self) -> tuple[str, ...]:
        """The texts of the vocabulary files, without the words."""
        return self._inner.file_texts

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special tokens."""
        return [text.tokens for text in self.encode_with_offsets(texts)]

    def encode_with_offsets(self, texts: Sequence[str]) -> list[TokensWithOffsets]:
        """Return the tokens of each text with their character spans; what stands for a word has the word's span."""
        parts = [[*self._parts(text)] for text in texts]
        pieces = iter(self._inner.encode_with_offsets([part for row in parts for _, part, _ in row]))
        found = []
        for row in parts:
            tokens: list[int] = []
            offsets: list[tuple[int, int]] = []
            for start, part, word in row:
                encoded = next(pieces)
                spans = [(start + first, start + last) for first, last in encoded.offsets]
                if word is None:
                    added = encoded.tokens
                else:
                    added = [*encoded.tokens, *self._between, word] if self._slash else [word]
                    spans = [(start, start + len(part))] * len(added)
                tokens += added
                offsets += spans
            found.append(TokensWithOffsets(tokens, offsets))
        return found

    def _parts(self, text: str) -> Iterator[tuple[int, str, int | None]]:
        """Yield the start and the text of every word with its token, and of what is between them with None."""
        end = 0
        for match in WORD.finditer(text):
            word = self._tokens.get(match.group().lower())
            if word is not None:
                yield end, text[end : match.start()].rstrip(), None
                yield match.start(), match.group(), word
                end = match.end()
        yield end, text[end:], None

    def _pipeline(self) -> Pipeline:
        return self._inner._pipeline()

    def _begins_word(self, piece: str) -> bool:
        return self._inner._begins_word(piece)

    def _ends_word(self, piece: str) -> bool:
        return self._inner._ends_word(piece)
