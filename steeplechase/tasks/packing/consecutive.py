"""Consecutive segments of the token stream, a lane of it per row. Dai et al. 2019 (Transformer-XL), 1901.02860."""

import numpy as np
from numpy.typing import NDArray

from search_space.objective import Objective
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream
from steeplechase.tasks.batches import Sequences, Tokens
from steeplechase.tasks.packing.text import Text


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
        length = self.sequences // batch_sequences
        if not length:
            needed = f"{batch_sequences} rows need a segment of {self._step} tokens each"
            raise DataError(f"the text has {len(self._text.tokens)} tokens; {needed}")
        epoch, place = divmod(step, length)
        first = int(stream(seed, "order", epoch).integers(self.sequences))
        numbers = (np.arange(batch_sequences) * length + place + first) % self.sequences
        return self._segments(numbers, np.full_like(numbers, epoch), seed)

    def evenly_spaced(self, count: int, seed: int) -> Sequences:
        """Return the first `count` segments of the text in order: a memory is of the text before."""
        numbers = np.arange(count)
        return self._segments(numbers, np.zeros_like(numbers), seed)

    def _segments(self, numbers: NDArray[np.int64], epochs: NDArray[np.int64], seed: int) -> Sequences:
        tokens: Tokens = np.empty((len(numbers), self._step + 1), np.int64)
        for row, number in enumerate(numbers.tolist()):
            tokens[row] = self._text.tokens[number * self._step : (number + 1) * self._step + 1]
        return Sequences(tokens, numbers, epochs, seed, text=self._text.tokens)


def sequences_of(text: Text, objective: Objective) -> ConsecutiveSegments:
    """Return the segments."""
    return ConsecutiveSegments(text)
