"""Text that continues the row before, then a pair of segments. XLNet, Yang et al. 2019, arXiv 1906.08237.

Source: github zihangdai/xlnet, data_utils.py: of 512 tokens, 256 continue the row before and are kept as its memory.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import ContinuedPairSequences, PairRelations, PairSequences, Text, next_of_lanes
from steeplechase.foundation.errors import DataError, Violation
from steeplechase.foundation.numpy_on_use import Numbers, Random, np
from steeplechase.foundation.randomness import stream

SPECIAL_TOKENS = 3  # [CLS], [SEP], [SEP]
SHORTEST = 2 * (SPECIAL_TOKENS + 2)
"""With a token in A and in B."""

NEXT, RANDOM = 0, 1
"""Labels of pairs, as those of next sentence prediction."""


class ContinuedPairs(PackingOption):
    """Half a sequence of text, then [CLS] A [SEP] B [SEP]; every sequence is full.

    The text is cut into as many lanes as a batch has rows, from a place that the seed draws for every epoch. The
    first half of a row continues the first half of its row of the batch before; a memory is of these halves alone,
    across the ends of documents. A begins where the half ends; B continues A or, in half of the rows, is from a
    random place of the text.
    """

    consecutive: ClassVar[bool] = True
    padded: ClassVar[bool] = False
    follows_text: ClassVar[bool] = True

    kind: Literal["continued_pairs"] = "continued_pairs"
    """Chooses text that continues, then a pair of segments."""
    both_directions: bool = True
    """Whether half of the rows read the text from its end to its beginning, so that their memory is of what follows;
    their distances between positions are still those of the text."""

    def mistakes_at(self, length: int, rows: int) -> Iterator[Violation]:
        """Yield what sequences of a length, or batches of so many rows, cannot be made; paths are a recipe's."""
        if length % 2 or length < SHORTEST:
            message = f"{length} tokens cannot be half text and half a pair; write an even number from {SHORTEST}"
            yield Violation(("sequence_length",), message)
        if self.both_directions and rows % 2:
            message = f"{rows} rows cannot be half forwards and half backwards; write an even number"
            yield Violation(("batch_sequences",), f"{message}, or both_directions: false")

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> "ContinuedPairBatches":
        """Return the sequences."""
        return ContinuedPairBatches(text, self)


class ContinuedPairBatches:
    """Sequences numbered in the order of the text, then those of the reversed text in its order."""

    def __init__(self, text: Text, packing: ContinuedPairs) -> None:
        self._text, self._both = text, packing.both_directions
        self._half = text.sequence_length // 2
        self._room = text.sequence_length - self._half - SPECIAL_TOKENS
        self.sequences = max(0, len(text.tokens) - self._room) // self._half
        self._sentences = text.sentences, np.sort(len(text.tokens) - text.sentences)

    def at(self, step: int, batch_sequences: int, seed: int) -> PairSequences:
        """Return the next sequence of every lane; an epoch is all sequences of the lanes, whose start the seed draws.

        Half of the lanes are of the reversed text. Raises DataError if the text has no sequence for each lane.
        """
        lanes = -(-batch_sequences // 2) if self._both else batch_sequences
        if self.sequences < lanes:
            needed = f"{lanes} rows need {self._half} tokens each, and {self._room} behind the last"
            raise DataError(f"the text has {len(self._text.tokens)} tokens; {needed}")
        numbers, epochs = next_of_lanes(self.sequences, lanes, step, seed)
        if self._both:
            numbers = np.concatenate([numbers, numbers + self.sequences])[:batch_sequences]
            epochs = np.concatenate([epochs, epochs])[:batch_sequences]
        return self._batch(numbers, epochs, seed)

    def evenly_spaced(self, count: int, seed: int) -> PairSequences:
        """Return `count` sequences at equal distances in the text, which has at least as many."""
        numbers = np.linspace(0, self.sequences - 1, count).astype(np.int64)
        return self._batch(numbers, np.zeros_like(numbers), seed)

    def _batch(self, numbers: Numbers, epochs: Numbers, seed: int) -> ContinuedPairSequences:
        shape = (len(numbers), self._text.sequence_length)
        tokens: Numbers = np.empty(shape, np.int64)
        segments, labels = np.zeros(shape, np.int64), np.empty_like(numbers)
        for row, (number, epoch) in enumerate(zip(numbers.tolist(), epochs.tolist(), strict=True)):
            random = stream(seed, "continued pairs", number, epoch)
            tokens[row], second, labels[row] = self._sequence(number, random)
            segments[row, second:] = 1
        backwards = numbers >= self.sequences
        return ContinuedPairSequences(tokens, numbers, epochs, seed, segments, labels, backwards)

    def _sequence(self, number: int, random: Random) -> tuple[Numbers, int, int]:
        """Return the tokens of a sequence, the position of its second segment, and the relation of both."""
        backwards, place = divmod(number, self.sequences)
        text = self._text.tokens[::-1] if backwards else self._text.tokens
        begin = (place + 1) * self._half
        ends = self._sentences[backwards]
        wanted = begin + int(random.integers(1, self._room))
        inside = ends[np.searchsorted(ends, begin + 1) : np.searchsorted(ends, begin + self._room)]
        split = int(inside[np.abs(inside - wanted).argmin()]) if len(inside) else wanted
        relation = int(random.integers(2))
        left = begin + self._room - split
        second = split if relation == NEXT else int(random.integers(len(text) - left + 1))
        separate = [self._text.tokenizer.separate]
        parts = [text[begin - self._half : begin], [self._text.tokenizer.classify], text[begin:split], separate]
        whole = np.concatenate([*parts, text[second : second + left], separate]).astype(np.int64)
        return whole, self._half + split - begin + 2, relation
