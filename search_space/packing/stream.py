"""Pieces of the token stream, cut at equal lengths, across sentences and documents. ELECTRA's release."""

from typing import ClassVar, Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import PairRelations, Sequences, Text, VisitingOrder
from search_space.special_tokens import SpecialTokens
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Numbers, Unsigned, np


class Stream(PackingOption):
    """[CLS], a piece of the stream, [SEP]; every sequence is full."""

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
