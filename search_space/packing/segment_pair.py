"""Pairs of segments of whole sentences. Devlin et al. 2018 (BERT), arXiv 1810.04805, appendix A.2.

A segment is a run of whole sentences of one document. Differences from the release: the passages that pairs are made
of do not depend on the epoch, so that every epoch visits each once; and the sentences that a random B displaces are
not put back, but seen in other epochs.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import UNDEFINED, PairRelations, PairSequences, Text, VisitingOrder
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Numbers, Random, np
from steeplechase.foundation.randomness import stream

SPECIAL_TOKENS = 3  # [CLS], [SEP], [SEP]
RANDOM = "random"


class SegmentPairs(PackingOption):
    """[CLS] A [SEP] B [SEP], both together at most as long as the sequence; SEGMENT-PAIR of RoBERTa's Table 2."""

    pairs: ClassVar[bool] = True

    kind: Literal["segment_pair"] = "segment_pair"
    """Chooses pairs of segments."""

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> "SegmentPairBatches":
        """Return the pairs, in the relations of the objective."""
        assert pairs is not None
        return SegmentPairBatches(text, pairs)


class SegmentPairBatches:
    """The pairs of a text, numbered; each is a function of its number, the epoch and the seed."""

    def __init__(self, text: Text, pairs: PairRelations) -> None:
        tokens, sentences, self._pairs = text.tokens, text.sentences, pairs
        self._tokens, self._tokenizer, self._length = tokens, text.tokenizer, text.sequence_length
        separators = np.flatnonzero(tokens == text.tokenizer.separate)
        document_ends = separators[np.searchsorted(separators, sentences)]
        self._bounds = np.stack([sentences, np.minimum(np.append(sentences[1:], len(tokens)), document_ends)], axis=1)
        _, self._document_of = np.unique(document_ends, return_inverse=True)
        self._first_sentences = np.flatnonzero(np.diff(self._document_of, prepend=-1))
        self._passages = np.array(
            [each for each in self._passages_of_text() if each[1] - each[0] >= pairs.fewest_sentences], np.int64
        ).reshape(-1, 2)
        self.sequences = len(self._passages)
        self._order = VisitingOrder(self.sequences)

    @property
    def documents(self) -> int:
        """Documents with a sentence."""
        return len(self._first_sentences)

    def at(self, step: int, batch_sequences: int, seed: int) -> PairSequences:
        """Return the batch of one step. Raises DataError if the text has no pair, or a random B has no document."""
        self._refuse_without_pairs()
        return self._batch(*self._order.at(step, batch_sequences, seed), seed)

    def evenly_spaced(self, count: int, seed: int) -> PairSequences:
        """Return `count` pairs at equal distances in the text, which has at least as many."""
        self._refuse_without_pairs()
        numbers = self._order.evenly_spaced(count)
        return self._batch(numbers, np.zeros_like(numbers), seed)

    def _refuse_without_pairs(self) -> None:
        if not self.sequences:
            raise DataError(f"no document has {self._pairs.fewest_sentences} sentences, of which a pair is made")
        if RANDOM in self._pairs.relations and self.documents < 2:
            raise DataError("the text is one document; a random segment B comes from another one")

    def _passages_of_text(self) -> Iterator[tuple[int, int]]:
        """Yield runs of sentences that fill a sequence, or end their document."""
        first, tokens, most = 0, 0, self._length - SPECIAL_TOKENS
        for sentence, (start, end) in enumerate(self._bounds):
            tokens += end - start
            last = sentence + 1 == len(self._bounds) or self._document_of[sentence + 1] != self._document_of[sentence]
            if last or tokens >= most:
                yield first, sentence + 1
                first, tokens = sentence + 1, 0

    def _batch(self, numbers: Numbers, epochs: Numbers, seed: int) -> PairSequences:
        tokens = np.full((len(numbers), self._length), self._tokenizer.pad, np.int64)
        segments, labels = np.zeros_like(tokens), np.empty_like(numbers)
        for row, (number, epoch) in enumerate(zip(numbers, epochs, strict=True)):
            random = stream(seed, "segment pairs", int(number), int(epoch))
            a, b, labels[row] = self._pair(int(number), random)
            a, b = truncated(a, b, self._length - SPECIAL_TOKENS, random)
            separate = [self._tokenizer.separate]
            whole = np.concatenate([[self._tokenizer.classify], a, separate, b, separate])
            tokens[row, : len(whole)] = whole
            segments[row, len(a) + 2 : len(whole)] = 1
        return PairSequences(tokens, numbers, epochs, seed, segments, labels)

    def _pair(self, number: int, random: Random) -> tuple[Numbers, Numbers, int]:
        """Return both segments and the number of their relation."""
        pairs, (first, last) = self._pairs, map(int, self._passages[number])
        target = self._length - SPECIAL_TOKENS
        if random.random() < pairs.short_sequence_share:
            target = int(random.integers(2, target + 1))
        least = min(first + pairs.fewest_sentences, last)
        last = max(least, self._reaching(first, last, target))
        split = first + 1 if last - first < 2 else first + int(random.integers(1, last - first))
        relations = pairs.relations if last - first > 1 else (RANDOM,)
        relation = relations[int(random.integers(len(relations)))]
        a, b = self._segment(first, split), self._segment(split, last)
        if relation == RANDOM:
            b = self._random_segment(first, target - len(a), random)
        return self._related(a, b, relation)

    def _related(self, a: Numbers, b: Numbers, relation: str) -> tuple[Numbers, Numbers, int]:
        """Return both segments in the order of their relation, and its number; UNDEFINED if equal ones have none."""
        label = self._pairs.relations.index(relation)
        undefined = relation != RANDOM and np.array_equal(a, b)
        return *((b, a) if relation == "previous" else (a, b)), UNDEFINED if undefined else label

    def _segment(self, first: int, last: int) -> Numbers:
        if first == last:
            return np.empty(0, np.int64)
        return np.asarray(self._tokens[self._bounds[first, 0] : self._bounds[last - 1, 1]]).astype(np.int64)

    def _reaching(self, first: int, last: int, target: int) -> int:
        """Return the sentence after the first ones that have `target` tokens together, at most `last`."""
        lengths = np.cumsum(self._bounds[first:last, 1] - self._bounds[first:last, 0])
        return min(last, first + 1 + int(np.searchsorted(lengths, target)))

    def _random_segment(self, sentence: int, target: int, random: Random) -> Numbers:
        """Return a segment of at least one sentence from another document than the sentence's."""
        document = int(random.integers(self.documents - 1))
        document += document >= self._document_of[sentence]
        ends = np.append(self._first_sentences, len(self._bounds))
        first = int(random.integers(ends[document], ends[document + 1]))
        return self._segment(first, self._reaching(first, int(ends[document + 1]), target))


def truncated(a: Numbers, b: Numbers, most: int, random: Random) -> tuple[Numbers, Numbers]:
    """Return both segments with at most `most` tokens together: the longer one loses tokens at random ends."""
    while len(a) + len(b) > most:
        front = random.random() < 0.5
        if len(a) > len(b):
            a = a[1:] if front else a[:-1]
        else:
            b = b[1:] if front else b[:-1]
    return a, b
