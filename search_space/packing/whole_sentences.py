"""Sequences of consecutive whole sentences, as many as fit. Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2.

A sequence is a contiguous part of the token stream, which has [SEP] after every document. A sentence that is longer
than a sequence is split into pieces that fill one, so that no token is lost; every epoch visits each token once.
"""

from typing import Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import PairRelations, Sequences, Text, VisitingOrder
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Numbers, np

SPECIAL_TOKENS = 2  # [CLS], [SEP]


def sentence_bounds(text: Text) -> tuple[Numbers, Numbers]:
    """Return the bounds of the sentences, pieces of a long one apart, and the number of the document of each.

    Bounds are the first token, and the token after the last one [parts 2].
    """
    separators = np.append(np.flatnonzero(text.tokens == text.tokenizer.separate), len(text.tokens))
    document_ends = separators[np.searchsorted(separators, text.sentences)]
    ends = np.minimum(np.append(text.sentences[1:], len(text.tokens)), document_ends)
    longest = text.sequence_length - SPECIAL_TOKENS
    pieces = -(-(ends - text.sentences) // longest)
    sentence = np.repeat(np.arange(len(ends)), pieces)
    starts = text.sentences[sentence] + longest * (np.arange(len(sentence)) - (pieces.cumsum() - pieces)[sentence])
    return np.stack([starts, np.minimum(starts + longest, ends[sentence])], 1), document_ends[sentence]


def packed(bounds: Numbers, limits: Numbers, longest: int) -> Numbers:
    """Return the bounds of sequences of consecutive parts, each as many as have at most `longest` tokens together.

    `limits` is the position that a sequence beginning with the part must not pass [parts].
    """
    starts, ends = (np.ascontiguousarray(column) for column in bounds.T)
    sequences, first = [], 0
    while first < len(bounds):
        after = int(np.searchsorted(ends, min(starts[first] + longest, limits[first]), side="right"))
        sequences.append((starts[first], ends[after - 1]))
        first = after
    return np.array(sequences, np.int64).reshape(-1, 2)


class WholeSentences:
    """Sequences with the given bounds in a text: [CLS], its tokens, [SEP], padding up to the longest of the batch."""

    def __init__(self, text: Text, bounds: Numbers) -> None:
        self._text, self._bounds = text, bounds
        self.sequences = len(bounds)
        self._order = VisitingOrder(self.sequences)

    def at(self, step: int, batch_sequences: int, seed: int) -> Sequences:
        """Return the batch of one step; each epoch visits every sequence once.

        Raises DataError if the text has no sentence.
        """
        if not self.sequences:
            raise DataError("the text has no sentence, of which a sequence is made")
        return self._batch(*self._visited(step, batch_sequences, seed), seed)

    def evenly_spaced(self, count: int, seed: int) -> Sequences:
        """Return `count` sequences at equal distances in the text, which has at least as many."""
        numbers = self._order.evenly_spaced(count)
        return self._batch(numbers, np.zeros_like(numbers), seed)

    def _visited(self, step: int, batch_sequences: int, seed: int) -> tuple[Numbers, Numbers]:
        """Return the number and the epoch of every sequence of a batch, both [batch]."""
        return self._order.at(step, batch_sequences, seed)

    @property
    def lengths(self) -> Numbers:
        """Tokens of every sequence, special ones included."""
        return self._bounds[:, 1] - self._bounds[:, 0] + SPECIAL_TOKENS

    def _batch(self, numbers: Numbers, epochs: Numbers, seed: int) -> Sequences:
        tokenizer, bounds = self._text.tokenizer, self._bounds[numbers]
        tokens = np.full((len(numbers), int(self.lengths[numbers].max())), tokenizer.pad, np.int64)
        tokens[:, 0] = tokenizer.classify
        for row, (start, end) in enumerate(bounds.tolist()):
            tokens[row, 1 : end - start + 1] = self._text.tokens[start:end]
            tokens[row, end - start + 1] = tokenizer.separate
        return Sequences(tokens, numbers, epochs, seed)


class FullSentences(PackingOption):
    """[CLS], consecutive sentences, [SEP], with a [SEP] between documents; FULL-SENTENCES of RoBERTa's Table 2.

    A sentence that does not fit begins the next sequence; one that is longer than a sequence is split.

    Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2: across documents.
    """

    kind: Literal["full_sentences"] = "full_sentences"
    """Chooses whole sentences, across documents."""

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> WholeSentences:
        """Return sequences that may cross documents; the [SEP] that ends a document inside of one is part of it."""
        bounds, _ = sentence_bounds(text)
        anywhere = np.full(len(bounds), len(text.tokens))
        return WholeSentences(text, packed(bounds, anywhere, text.sequence_length - SPECIAL_TOKENS))


class DocSentences(PackingOption):
    """[CLS], consecutive sentences of one document, [SEP]; DOC-SENTENCES of RoBERTa's Table 2.

    Sequences at the end of a document are short, so that a batch has as many sequences as reach its tokens.

    Liu et al. 2019, section 4.2: sentences of one document, more rows in a batch.
    """

    kind: Literal["doc_sentences"] = "doc_sentences"
    """Chooses whole sentences of one document."""

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> "DocSentenceBatches":
        """Return sequences that end at the latest with their document."""
        bounds, document_ends = sentence_bounds(text)
        return DocSentenceBatches(text, packed(bounds, document_ends, text.sequence_length - SPECIAL_TOKENS))


class DocSentenceBatches(WholeSentences):
    """Sequences of one document each; a batch is as many as begin within the tokens of full sequences.

    Epochs follow one another as one line of tokens, which is cut into batches of equal length; a sequence belongs to
    the batch that has its first token.
    """

    def _visited(self, step: int, batch_sequences: int, seed: int) -> tuple[Numbers, Numbers]:
        of_epoch, of_batch = int(self.lengths.sum()), batch_sequences * self._text.sequence_length
        start, end = step * of_batch, (step + 1) * of_batch
        numbers, epochs = [], []
        for epoch in range(start // of_epoch, (end - 1) // of_epoch + 1):
            order, firsts = self._line(seed, epoch)
            chosen = order[slice(*np.searchsorted(firsts, (start - epoch * of_epoch, end - epoch * of_epoch)))]
            numbers.append(chosen)
            epochs.append(np.full_like(chosen, epoch))
        return np.concatenate(numbers), np.concatenate(epochs)

    def _line(self, seed: int, epoch: int) -> tuple[Numbers, Numbers]:
        """Return the sequences of an epoch in order, and the place of the first token of each in the epoch's line."""
        if getattr(self, "_known", None) != (seed, epoch):
            order = self._order.of_epoch(seed, epoch)
            self._known, self._lined_up = (seed, epoch), (order, np.cumsum(self.lengths[order]) - self.lengths[order])
        return self._lined_up
