"""Sequences of one stream with the mentions inside them, for objectives that replace entities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.batches import Batches, Sequences
from steeplechase.tasks.mentions.token_mentions import EntityNames
from steeplechase.tasks.tokenizer import Tokenizer

NO_MENTION = -1
NONE_FOUND = "the text has no entity mentions, which the objective replaces; the experiment's `mentions` found none"


@dataclass(frozen=True)
class MentionSequences(Sequences):
    """Sequences with the mentions that are whole inside them."""

    mentions: NDArray[np.int64]
    """First position, the position after the last, and entity, from left to right; NO_MENTION in rows with fewer than
    others [batch mentions 3]."""
    names: EntityNames


class MentionBatches:
    """Pieces of the stream, as `Batches` makes them, with their mentions."""

    def __init__(
        self,
        tokens: NDArray[np.unsignedinteger],
        mentions: NDArray[np.int64],
        names: EntityNames,
        tokenizer: Tokenizer,
        sequence_length: int,
    ) -> None:
        self._batches = Batches(tokens, tokenizer, sequence_length)
        self._mentions, self._names, self._piece = mentions, names, sequence_length - 2
        self.sequences = self._batches.sequences

    def at(self, step: int, batch_sequences: int, seed: int) -> MentionSequences:
        """Return the batch of one step. Raises DataError if the text is too short or has no mentions."""
        return self._with_mentions(self._batches.at(step, batch_sequences, seed))

    def evenly_spaced(self, count: int, seed: int) -> MentionSequences:
        """Return `count` sequences at equal distances in the text, which has at least as many."""
        return self._with_mentions(self._batches.evenly_spaced(count, seed))

    def _with_mentions(self, sequences: Sequences) -> MentionSequences:
        if not len(self._mentions):
            raise DataError(NONE_FOUND)
        rows = [self._inside(number) for number in sequences.numbers.tolist()]
        most = max(1, *(len(row) for row in rows))
        mentions = np.full((len(rows), most, 3), NO_MENTION, np.int64)
        for place, row in zip(mentions, rows, strict=True):
            place[: len(row)] = row
        return MentionSequences(**vars(sequences), mentions=mentions, names=self._names)

    def _inside(self, number: int) -> NDArray[np.int64]:
        """Return the mentions of a piece, with positions in its sequence."""
        first, last = number * self._piece, (number + 1) * self._piece
        begin, end = np.searchsorted(self._mentions[:, 0], (first, last))
        found = self._mentions[begin:end]
        found = found[found[:, 1] <= last]
        return np.asarray(found + np.array([1 - first, 1 - first, 0]))  # [CLS] is before the piece
