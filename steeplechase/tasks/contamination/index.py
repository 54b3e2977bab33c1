"""Overlap of a dev set with pretraining text: equal sentences and word 13-grams. GPT-3, arXiv 2005.14165, app. C.

An example overlaps if one of its 13-grams occurs in a document, or if one of its sentences equals a sentence or line
there. Only the n-grams of the dev set are in memory, in an index; the documents are streamed. 64-bit hashes find
candidates, and a comparison of the words confirms them.

Word normalisation as in GPT-3: lower case, without punctuation. arXiv 2005.14165, appendix C.
"""

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.contamination.runs import UNKNOWN, Integers, Runs, Stretch
from steeplechase.tasks.corpora.document import Document

BREAK = "\x00"
"""Inserted after each sentence and each line."""

_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s)")
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_FURTHER_PUNCTUATION = re.compile(r"[^\x00-\x7f\w\s]+")
_PUNCTUATION = string.punctuation.encode()


def words_of(text: str) -> list[str]:
    """Return the words of a text, with a break after each sentence and each line."""
    text = _SENTENCE_END.sub(f" {BREAK} ", text.lower().replace("\n", f" {BREAK} "))
    plain = _FURTHER_PUNCTUATION.sub("", text).encode("utf-8", "replace")
    return plain.translate(None, delete=_PUNCTUATION).decode().split()


def sentences_of(text: str) -> list[list[str]]:
    """Return the words of each sentence of a dev set's text, in which a single line end is a space."""
    paragraphs = (" ".join(part.split()) for part in _PARAGRAPH_END.split(text.replace(BREAK, " ")))
    sentences: list[list[str]] = [[]]
    for word in words_of("\n".join(paragraphs)):
        if word == BREAK:
            sentences.append([])
        else:
            sentences[-1].append(word)
    return [sentence for sentence in sentences if sentence]


RUN_WORDS = 13  # GPT-3's largest
FEWEST_SENTENCE_WORDS = 4  # this project's choice: shorter ones ("See below.") occur in any text
PIECES_JOINED = 8  # lines that a sentence of the corpus may span
CHARACTERS_AT_ONCE = 1 << 19

_BORDER = BREAK * 2  # between documents: a word of no dev set, so no n-gram crosses it
_IS_BREAK, _IS_BORDER = -1, -2


@dataclass(frozen=True)
class Overlap:
    """Examples of a dev set, numbered from 0, that occur in the documents."""

    examples: int
    too_short: tuple[int, ...]
    """Examples too short to test: no sentence of 4 words and no run of 13."""
    sentences: tuple[int, ...]
    runs: tuple[int, ...]
    sources: dict[int, str]
    """By example, the source of the first document that overlaps."""

    @property
    def overlapping(self) -> tuple[int, ...]:
        """Examples with an overlap of either kind."""
        return tuple(sorted({*self.sentences, *self.runs}))

    @property
    def tested(self) -> int:
        """Examples long enough to test."""
        return self.examples - len(self.too_short)


def overlap(examples: Sequence[Sequence[str]], documents: Iterable[Document]) -> Overlap:
    """Return the overlap of the documents with the examples, each given as its texts."""
    index = OverlapIndex(examples)
    for gathered in _gathered(documents):
        index.read(gathered)
    return index.overlap()


def _gathered(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield the documents in batches of about half a million characters, for speed."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= CHARACTERS_AT_ONCE:
            yield batch
            batch, size = [], 0
    yield batch


class OverlapIndex:
    """Index of a dev set's n-grams and sentences, matched against streamed documents."""

    def __init__(self, examples: Sequence[Sequence[str]]) -> None:
        self._texts = {
            text: index for index, text in enumerate(dict.fromkeys(t for texts in examples for t in texts))
        }
        self._examples = [[self._texts[text] for text in texts] for texts in examples]
        self._words = {BREAK: _IS_BREAK, _BORDER: _IS_BORDER}
        of_text = [sentences_of(text) for text in self._texts]
        numbers = [
            self._words.setdefault(word, len(self._words) - 1)
            for sentences in of_text
            for sentence in sentences
            for word in sentence
        ]
        self._own = Stretch(np.asarray(numbers, dtype=np.int64))
        sentences, runs = _spans(of_text)
        self._sentences, self._sentences_of = self._indexed(sentences, len(of_text))
        self._runs, self._runs_of = self._indexed(runs, len(of_text))
        self._longest = max(self._sentences.lengths, default=0)

    def _indexed(self, spans: NDArray[np.int64], texts: int) -> tuple[Runs, list[Integers]]:
        """Return the distinct runs and each text's runs; a span is (text, start, end)."""
        owners, starts, ends = spans.T
        hashes, first, which = np.unique(self._own.hashes(starts, ends), return_index=True, return_inverse=True)
        runs = Runs(hashes, starts[first], (ends - starts)[first])
        bounds = np.searchsorted(owners, np.arange(texts + 1))
        return runs, [which[bounds[text] : bounds[text + 1]] for text in range(texts)]

    def read(self, documents: Sequence[Document]) -> None:
        """Match the runs that were not found yet against a batch of documents."""
        texts = (document.text.replace(BREAK, " ") for document in documents)
        words = words_of(f"\n{_BORDER}\n".join(texts) + "\n")
        numbers = np.fromiter(map(self._words.get, words, repeat(UNKNOWN)), np.int64, len(words))
        is_word = numbers != _IS_BREAK
        bounds = np.unique(np.cumsum(is_word)[~is_word])
        numbers = numbers[is_word]
        borders = _DocumentBorders(documents, np.flatnonzero(numbers == _IS_BORDER))
        numbers[borders.positions] = UNKNOWN
        stretch, bounds = Stretch(numbers), np.union1d(0, bounds)
        self._match(self._runs, stretch, *stretch.runs(RUN_WORDS), borders)
        for pieces in range(1, PIECES_JOINED + 1):
            starts, ends = bounds[:-pieces], bounds[pieces:]
            likely = (ends - starts >= FEWEST_SENTENCE_WORDS) & (ends - starts <= self._longest)
            self._match(self._sentences, stretch, starts[likely], ends[likely], borders)

    def _match(
        self, runs: Runs, stretch: Stretch, starts: Integers, ends: Integers, borders: "_DocumentBorders"
    ) -> None:
        known = stretch.known(starts, ends)
        starts, ends = starts[known], ends[known]
        for candidate, run in runs.candidates(stretch.hashes(starts, ends)):
            own = self._own.numbers[runs.starts[run] : runs.starts[run] + runs.lengths[run]]
            if np.array_equal(stretch.numbers[starts[candidate] : ends[candidate]], own):
                runs.take(run, borders.source(int(starts[candidate])))

    def overlap(self) -> Overlap:
        """Return the overlap with the documents read so far."""
        kinds = ((self._sentences, self._sentences_of), (self._runs, self._runs_of))
        sentences, runs = (tuple(self._having(matched, runs_of_text)) for matched, runs_of_text in kinds)
        too_short = (
            example
            for example, texts in enumerate(self._examples)
            if not any(len(runs_of_text[text]) for text in texts for _, runs_of_text in kinds)
        )
        return Overlap(len(self._examples), tuple(too_short), sentences, runs, self._sources(kinds))

    def _having(self, runs: Runs, runs_of_text: list[Integers]) -> Iterator[int]:
        for example, texts in enumerate(self._examples):
            if any(not runs.missing[runs_of_text[text]].all() for text in texts):
                yield example

    def _sources(self, kinds: Iterable[tuple[Runs, list[Integers]]]) -> dict[int, str]:
        by_example: dict[int, str] = {}
        for runs, runs_of_text in kinds:
            for example, texts in enumerate(self._examples):
                sources = (runs.source[run] for text in texts for run in runs_of_text[text].tolist())
                first = next((source for source in sources if source is not None), None)
                if first is not None:
                    by_example.setdefault(example, first)
        return by_example


@dataclass(frozen=True)
class _DocumentBorders:
    """Maps a word position to its document, from the positions of the borders."""

    documents: Sequence[Document]
    positions: Integers

    def source(self, word: int) -> str:
        return self.documents[int(np.searchsorted(self.positions, word))].source


def _spans(of_text: list[list[list[str]]]) -> tuple[Integers, Integers]:
    """Return (text, start, end) of every sentence and text of 4 or more words, and of every run of 13."""
    sentences: list[tuple[int, int, int]] = []
    runs: list[tuple[int, int, int]] = []
    start = 0
    for text, text_sentences in enumerate(of_text):
        begin = start
        for sentence in text_sentences:
            sentences.append((text, start, start := start + len(sentence)))
        sentences.append((text, begin, start))
        runs += [(text, first, first + RUN_WORDS) for first in range(begin, start - RUN_WORDS + 1)]
    long_enough = [span for span in sentences if span[2] - span[1] >= FEWEST_SENTENCE_WORDS]
    return _table(long_enough), _table(runs)


def _table(spans: list[tuple[int, int, int]]) -> Integers:
    return np.asarray(spans, dtype=np.int64).reshape(-1, 3)
