"""Consecutive segments: each row of a batch continues its row of the batch before. Transformer-XL, 1901.02860."""

from typing import ClassVar, Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import PairRelations, Sequences, Text
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Numbers, np
from steeplechase.foundation.randomness import stream


class Consecutive(PackingOption):
    """Pieces of the stream without [CLS] and [SEP]; the last token of one is the first of the next.

    The text is cut into as many lanes as a batch has rows, from a place that the seed draws for every epoch. A row is
    the next segment of its lane, so that a memory of earlier segments is of the text before. The first token of a
    segment is context alone: it was predicted at the end of the segment before.
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

    def _segments(self, numbers: Numbers, epochs: Numbers, seed: int) -> Sequences:
        tokens: Numbers = np.empty((len(numbers), self._step + 1), np.int64)
        for row, number in enumerate(numbers.tolist()):
            tokens[row] = self._text.tokens[number * self._step : (number + 1) * self._step + 1]
        return Sequences(tokens, numbers, epochs, seed, text=self._text.tokens)
