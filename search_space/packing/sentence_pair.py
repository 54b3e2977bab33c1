"""Pairs of single sentences, more of them in a batch. Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2.

Sentences are paired two by two from the start of each document, so that every epoch visits each once; the last one of
an odd number is the first segment of a random pair. The sentences that a random B displaces are seen in other epochs.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Literal

from search_space.packing.option import PackingOption
from search_space.packing.segment_pair import RANDOM, SPECIAL_TOKENS, SegmentPairBatches
from search_space.packing.sequences import PairRelations, PairSequences, Text
from steeplechase.foundation.numpy_on_use import Numbers, Random, np


class SentencePairs(PackingOption):
    """[CLS] A [SEP] B [SEP] of two sentences; SENTENCE-PAIR of RoBERTa's Table 2.

    Such pairs are much shorter than a sequence, so that a batch has more of them: as many tokens as full sequences.
    """

    pairs: ClassVar[bool] = True

    kind: Literal["sentence_pair"] = "sentence_pair"
    """Chooses pairs of single sentences."""

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> "SentencePairBatches":
        """Return the pairs, in the relations of the objective."""
        assert pairs is not None
        return SentencePairBatches(text, pairs)


class SentencePairBatches(SegmentPairBatches):
    """The pairs of a text, numbered; each is a function of its number, the epoch and the seed."""

    def at(self, step: int, batch_sequences: int, seed: int) -> PairSequences:
        """Return the pairs of one step: as many as have the tokens of `batch_sequences` full sequences, on average.

        Columns that are padding in every row are left out. Raises DataError if the text has no pair, or a random B
        has no document.
        """
        batch = super().at(step, round(batch_sequences * self._length / self._mean_length), seed)
        longest = int(np.count_nonzero(batch.tokens != self._tokenizer.pad, axis=1).max())
        return replace(batch, tokens=batch.tokens[:, :longest], segments=batch.segments[:, :longest])

    @cached_property
    def _mean_length(self) -> float:
        """Tokens of a pair of neighbours, special ones included, on average; the sequence's length without any."""
        lengths = self._bounds[self._passages[:, 1] - 1, 1] - self._bounds[self._passages[:, 0], 0]
        return float(np.minimum(lengths + SPECIAL_TOKENS, self._length).mean()) if len(lengths) else self._length

    def _passages_of_text(self) -> Iterator[tuple[int, int]]:
        """Yield two neighbouring sentences, or the last one of a document."""
        ends = np.append(self._first_sentences, len(self._bounds))
        for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            yield from ((sentence, min(sentence + 2, last)) for sentence in range(first, last, 2))

    def _pair(self, number: int, random: Random) -> tuple[Numbers, Numbers, int]:
        """Return both sentences and the number of their relation."""
        first, last = map(int, self._passages[number])
        relations = self._pairs.relations if last - first > 1 else (RANDOM,)
        relation = relations[int(random.integers(len(relations)))]
        a, b = self._segment(first, first + 1), self._segment(first + 1, last)
        if relation == RANDOM:
            b = self._random_segment(first, 1, random)
        return self._related(a, b, relation)
