"""What objectives on text that continues from batch to batch share: a memory between batches, and both directions.

The first half of a sequence, of which the memory is, does not read the second: the text of A comes again as the first
half of the next sequence, whose predictions the memory would give away (github zihangdai/xlnet, data_utils.py).
"""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from search_space.candidate import Candidate
from search_space.packing.sequences import UNDEFINED, ContinuedPairSequences, PairSequences, Sequences
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext, PredictionOrder
from steeplechase.models.segment_memory import KeptMemory, Streams, read_streams
from steeplechase.tasks.masking import MaskedBatch, PaddedBatch
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, MaskedTokenModel
from steeplechase.tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class ContinuedBatch(PaddedBatch):
    """A batch of which each row may continue its row of the batch before."""

    segments: NDArray[np.int64]
    """The segment of every token [batch seq]."""
    labels: NDArray[np.int64]
    """The relation of both segments, UNDEFINED without two [batch]."""
    numbers: NDArray[np.int64]
    """The number of each row in the text, by which a memory knows what continues [batch]."""
    backwards: NDArray[np.bool_]
    """Whether a row reads the text from its end [batch]."""


def continued(batch: MaskedBatch, sequences: Sequences, tokenizer: Tokenizer) -> ContinuedBatch:
    """Return the batch of these sequences with their segments, numbers and directions."""
    segments, labels = np.zeros_like(sequences.tokens), np.full_like(sequences.numbers, UNDEFINED)
    if isinstance(sequences, PairSequences):
        segments, labels = sequences.segments, sequences.labels
    return ContinuedBatch(
        **vars(batch),
        real=sequences.tokens != tokenizer.pad,
        segments=segments,
        labels=labels,
        numbers=sequences.numbers,
        backwards=_backwards(sequences),
    )


def in_text_order(sequences: Sequences) -> Sequences:
    """Return the sequences with the tokens of every row from the beginning of the text on, where words are found."""
    backwards = _backwards(sequences)
    return replace(sequences, tokens=np.where(backwards[:, None], sequences.tokens[:, ::-1], sequences.tokens))


def in_reading_order(batch: MaskedBatch, sequences: Sequences) -> MaskedBatch:
    """Return a batch of sequences in text order with the rows as they are read."""
    backwards, last = _backwards(sequences)[:, None], batch.inputs.shape[1] - 1
    return MaskedBatch(
        np.where(backwards, batch.inputs[:, ::-1], batch.inputs),
        np.where(backwards, last - batch.masked_positions[:, ::-1], batch.masked_positions),
        np.where(backwards, batch.targets[:, ::-1], batch.targets),
        np.where(backwards, batch.spans[:, ::-1], batch.spans),
    )


def _backwards(sequences: Sequences) -> NDArray[np.bool_]:
    if isinstance(sequences, ContinuedPairSequences):
        return sequences.backwards
    return np.zeros(len(sequences.tokens), bool)


def halves(tokens: Numbers) -> NDArray[np.int64]:
    """Return 0 for the tokens of the first half of every row, 1 for those of the second [batch seq]."""
    return np.broadcast_to(np.arange(tokens.shape[1]) >= tokens.shape[1] // 2, tokens.shape).astype(np.int64)


@dataclass(frozen=True)
class ContinuedTensors(MaskedTensors):
    """A continued batch on the device."""

    context: AttentionContext = NO_CONTEXT
    numbers: Int[Tensor, " batch"] | None = None
    """The number of each row in the text; None without a memory."""
    labels: Int[Tensor, " batch"] | None = None
    """The relation of both segments, UNDEFINED without two."""


Batch = TypeVar("Batch", bound=PaddedBatch)


class ContinuedTextModel(MaskedTokenModel[Batch]):
    """An encoder that may keep a memory of the first halves of its sequences between batches."""

    def __init__(self, candidate: Candidate) -> None:
        super().__init__(candidate)
        self.pairs = candidate.objective.packing.follows_text
        keeps = candidate.architecture.memory > 0
        self.memory = KeptMemory(self.encoder, candidate.recipe.batch_sequences) if keeps else None

    def continued_tensors(self, batch: ContinuedBatch, order: PredictionOrder) -> ContinuedTensors:
        """Return a batch on the device, with the order of its predictions."""
        masked = self.masked_tensors(batch, batch.real)
        segments = self.tensor(batch.segments) if self.pairs else None
        backwards = self.tensor(batch.backwards) if batch.backwards.any() else None
        context = AttentionContext(order=order, segments=segments, backwards=backwards)
        numbers = None if self.memory is None else self.tensor(batch.numbers)
        labels = self.tensor(batch.labels) if self.pairs else None
        return ContinuedTensors(**vars(masked), context=context, numbers=numbers, labels=labels)

    def read(self, batch: ContinuedTensors) -> Streams:
        """Return the encoder's output for a batch; what continues is kept for the next one in training."""
        numbers = batch.numbers
        memory = None if self.memory is None or numbers is None else self.memory.before(numbers)
        streams = read_streams(self.encoder, batch.inputs, batch.context, batch.real, memory)
        if self.memory is not None and numbers is not None and memory is not None and self.training:
            continuing = batch.inputs.shape[1] // 2
            self.memory.keep(numbers, memory.after(streams.inputs[:, :, :continuing]))
        return streams
