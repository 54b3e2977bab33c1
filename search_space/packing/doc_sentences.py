"""Whole sentences of one document, more rows in a batch. Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2."""

from typing import Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import PairRelations, Text
from search_space.packing.whole_sentences import SPECIAL_TOKENS, WholeSentences, packed, sentence_bounds
from steeplechase.foundation.numpy_on_use import Numbers, np


class DocSentences(PackingOption):
    """[CLS], consecutive sentences of one document, [SEP]; DOC-SENTENCES of RoBERTa's Table 2.

    Sequences at the end of a document are short, so that a batch has as many sequences as reach its tokens.
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
