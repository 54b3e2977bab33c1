"""Pieces of the token stream with the entity mentions inside them. Xiong et al. 2019 (WKLM), arXiv 1912.09637."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import EntityNames, PairRelations, Sequences, Text
from search_space.packing.stream import Batches
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Numbers, np

NO_MENTION = -1
NONE_FOUND = "the text has no entity mentions, which the objective replaces; the experiment's `mentions` found none"


class Mentions(PackingOption):
    """[CLS], a piece of the stream, [SEP], and where it mentions entities; names of other lengths leave padding."""

    reads_sentences: ClassVar[bool] = False
    reads_mentions: ClassVar[bool] = True

    kind: Literal["mentions"] = "mentions"
    """Chooses pieces of the stream with their mentions."""

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> "MentionBatches":
        """Return the pieces of the stream, with the mentions that lie inside them."""
        return MentionBatches(text)


@dataclass(frozen=True)
class MentionSequences(Sequences):
    """Sequences with the mentions that are whole inside them."""

    filled_with: ClassVar[Mapping[str, int]] = {"mentions": NO_MENTION}
    mentions: Numbers
    """First position, the position after the last, and entity, from left to right; NO_MENTION in rows with fewer than
    others [batch mentions 3]."""
    names: EntityNames


class MentionBatches:
    """Pieces of the stream, as `Batches` makes them, with their mentions."""

    def __init__(self, text: Text) -> None:
        self._batches = Batches(text.tokens, text.tokenizer, text.sequence_length)
        self._mentions, self._names, self._piece = text.mentions, text.entity_names, text.sequence_length - 2
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

    def _inside(self, number: int) -> Numbers:
        """Return the mentions of a piece, with positions in its sequence."""
        first, last = number * self._piece, (number + 1) * self._piece
        begin, end = np.searchsorted(self._mentions[:, 0], (first, last))
        found = self._mentions[begin:end]
        found = found[found[:, 1] <= last]
        return np.asarray(found + np.array([1 - first, 1 - first, 0]))  # [CLS] is before the piece
