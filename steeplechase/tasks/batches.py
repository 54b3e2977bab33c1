"""Pretraining batches: fixed-length pieces of the token stream in an order that depends on the seed alone.

Two arms with the same seed see the same batches in the same order. The batch of a step is a function of the step's
number, so an interrupted run resumes with the same batches.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream
from steeplechase.tasks.tokenizer import Tokenizer

Tokens = NDArray[np.int64]
Text = NDArray[np.unsignedinteger]
"""The tokens of a split in their order, [SEP] after every document."""


@dataclass(frozen=True)
class Sequences:
    """Sequences before an objective prepares them, and their identity, on which static corruption depends."""

    tokens: Tokens
    """With special tokens; shape [batch seq]."""
    numbers: NDArray[np.int64]
    """The number of each sequence in the text [batch]."""
    epochs: NDArray[np.int64]
    """How often each sequence has been visited before [batch]."""
    seed: int
    """The pretraining seed."""
    text: Text = field(default_factory=lambda: np.empty(0, np.uint16), kw_only=True)
    """The text that they are pieces of, for objectives that sample tokens of it; empty where no objective does."""


class SequenceSource(Protocol):
    """The sequences of a text, numbered from 0."""

    sequences: int
    """How many there are."""

    def at(self, step: int, batch_sequences: int, seed: int) -> Sequences:
        """Return the batch of one step; each epoch visits every sequence once, in its own random order."""

    def evenly_spaced(self, count: int, seed: int) -> Sequences:
        """Return `count` sequences at equal distances in the text, which has at least as many."""


class VisitingOrder:
    """The numbers of the sequences of a step: each epoch visits every sequence once, in its own random order."""

    def __init__(self, sequences: int) -> None:
        self.sequences = sequences

    def at(self, step: int, batch_sequences: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number and the epoch of every sequence of a batch, both [batch]."""
        indices = np.arange(step * batch_sequences, (step + 1) * batch_sequences)
        epochs = indices // self.sequences
        numbers = np.empty(batch_sequences, dtype=np.int64)
        for epoch in np.unique(epochs):
            inside = epochs == epoch
            numbers[inside] = self.of_epoch(seed, int(epoch))[indices[inside] % self.sequences]
        return numbers, epochs

    def evenly_spaced(self, count: int) -> NDArray[np.int64]:
        """Return the numbers of `count` sequences at equal distances."""
        return np.linspace(0, self.sequences - 1, count).astype(np.int64)

    def of_epoch(self, seed: int, epoch: int) -> NDArray[np.int64]:
        """Return all numbers in the order of an epoch."""
        if getattr(self, "_known", None) != (seed, epoch):
            self._known = (seed, epoch)
            self._permutation = stream(seed, "order", epoch).permutation(self.sequences)
        return self._permutation


class Batches:
    """Sequences of `sequence_length` tokens: [CLS], a piece of the stream, [SEP]; shape [batch seq]."""

    def __init__(self, tokens: Text, tokenizer: Tokenizer, sequence_length: int) -> None:
        self._tokens, self._tokenizer = tokens, tokenizer
        self._piece = sequence_length - 2
        self.sequences = len(tokens) // self._piece
        self._order = VisitingOrder(self.sequences)

    def sequence(self, numbers: NDArray[np.int64]) -> Tokens:
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
