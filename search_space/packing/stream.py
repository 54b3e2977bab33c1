"""Pieces of the token stream, cut at equal lengths, across sentences and documents. ELECTRA's release."""

from typing import ClassVar, Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import PairRelations, Sequences, Text, VisitingOrder, next_of_lanes
from search_space.special_tokens import SpecialTokens
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Numbers, Unsigned, np


class Stream(PackingOption):
    """[CLS], a piece of the stream, [SEP]; every sequence is full.

    Cut at equal lengths, across sentences and documents, as in ELECTRA's release.
    """

    reads_sentences: ClassVar[bool] = False
    padded: ClassVar[bool] = False

    kind: Literal["stream"] = "stream"
    """Chooses pieces of the stream."""

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> "Batches":
        """Return the pieces."""
        return Batches(text.tokens, text.tokenizer, text.sequence_length)


class Batches:
    """Sequences of `sequence_length` tokens: [CLS], a piece of the stream, [SEP]; shape [batch seq]."""

    def __init__(self, tokens: Unsigned, tokenizer: SpecialTokens, sequence_length: int) -> None:
        self._tokens, self._tokenizer = tokens, tokenizer
        self._piece = sequence_length - 2
        self.sequences = len(tokens) // self._piece
        self._order = VisitingOrder(self.sequences)

    def sequence(self, numbers: Numbers) -> Numbers:
        """Return the numbered pieces of the stream, shape [numbers seq]."""
        batch = np.empty((len(numbers), self._piece + 2), dtype=np.int64)
        batch[:, 0], batch[:, -1] = self._tokenizer.classify, self._tokenizer.separate
        for row, number in enumerate(numbers):
            batch[row, 1:-1] = self._tokens[number * self._piece : (number + 1) * self._piece]
        return batch

    def at(self, step: int, batch_sequences: int, seed: int) -> Sequences:
        """Return the batch of one step; each epoch visits every sequence once, in its own random order.

        Raises DataError if the text is shorter than one sequence.
        """
        if self.sequences == 0:
            raise DataError(f"the text has {len(self._tokens)} tokens; one sequence needs {self._piece}")
        numbers, epochs = self._order.at(step, batch_sequences, seed)
        return Sequences(self.sequence(numbers), numbers, epochs, seed, text=self._tokens)

    def evenly_spaced(self, count: int, seed: int) -> Sequences:
        """Return `count` sequences at equal distances in the text, which has at least as many."""
        numbers = self._order.evenly_spaced(count)
        return Sequences(self.sequence(numbers), numbers, np.zeros_like(numbers), seed, text=self._tokens)


class Consecutive(PackingOption):
    """Pieces of the stream without [CLS] and [SEP]; the last token of one is the first of the next.

    The text is cut into as many lanes as a batch has rows, from a place that the seed draws for every epoch. A row is
    the next segment of its lane, so that a memory of earlier segments is of the text before. The first token of a
    segment is context alone: it was predicted at the end of the segment before.

    Each row of a batch continues its row of the batch before: Transformer-XL, arXiv 1901.02860.
    """

    reads_sentences: ClassVar[bool] = False
    padded: ClassVar[bool] = False
    consecutive: ClassVar[bool] = True

    kind: Literal["consecutive"] = "consecutive"
    """Chooses consecutive segments."""

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> "ConsecutiveSegments":
        """Return the segments."""
        return ConsecutiveSegments(text)


class ConsecutiveSegments:
    """Segments of `sequence_length` tokens that overlap by one, numbered in the order of the stream."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._step = text.sequence_length - 1
        self.sequences = max(0, len(text.tokens) - 1) // self._step

    def at(self, step: int, batch_sequences: int, seed: int) -> Sequences:
        """Return the next segment of every lane; an epoch is all segments of the lanes, whose start the seed draws.

        Raises DataError if the text has no segment for each lane.
        """
        if self.sequences < batch_sequences:
            needed = f"{batch_sequences} rows need a segment of {self._step} tokens each"
            raise DataError(f"the text has {len(self._text.tokens)} tokens; {needed}")
        return self._segments(*next_of_lanes(self.sequences, batch_sequences, step, seed), seed)

    def evenly_spaced(self, count: int, seed: int) -> Sequences:
        """Return the first `count` segments of the text in order: a memory is of the text before."""
        numbers = np.arange(count)
        return self._segments(numbers, np.zeros_like(numbers), seed)

    def _segments(self, numbers: Numbers, epochs: Numbers, seed: int) -> Sequences:
        tokens: Numbers = np.empty((len(numbers), self._step + 1), np.int64)
        for row, number in enumerate(numbers.tolist()):
            tokens[row] = self._text.tokens[number * self._step : (number + 1) * self._step + 1]
        return Sequences(tokens, numbers, epochs, seed, text=self._text.tokens)
