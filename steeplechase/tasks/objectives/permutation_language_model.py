"""Permutation language modelling by two streams of attention. XLNet: Yang et al. 2019, 1906.08237, section 2."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import PermutationLanguageModel
from search_space.packing.sequences import UNDEFINED, Sequences
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.models.attention_context import AttentionContext, PredictionOrder
from steeplechase.models.heads.logit import SegmentPairHead
from steeplechase.models.output_layer import OutputHead, build_output_layer
from steeplechase.models.precision import to_float32
from steeplechase.models.segment_memory import read_streams
from steeplechase.tasks.masking import MaskedBatch, Words, selected
from steeplechase.tasks.objectives.continued_text import (
    ContinuedBatch,
    ContinuedTensors,
    ContinuedTextModel,
    continued,
    halves,
    in_reading_order,
    in_text_order,
)
from steeplechase.tasks.objectives.masked_tokens import prediction_loss
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import words_of


@dataclass(frozen=True)
class OrderedBatch(ContinuedBatch):
    """A batch of unchanged sequences with an order of prediction."""

    ranks: NDArray[np.int64]
    """The order of prediction, as `PredictionOrder` has it [batch seq]."""


class Model(ContinuedTextModel[OrderedBatch]):
    """An encoder with a query stream, an output layer, and a head for pairs if their relation is classified."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, PermutationLanguageModel)
        self.objective = candidate.objective
        weighed = self.objective.next_sentence_weight > 0
        self.pair_head = SegmentPairHead(candidate.architecture, 2) if weighed else None

    def build_head(self, candidate: Candidate) -> OutputHead:
        """Return the output layer that the objective declares."""
        assert isinstance(candidate.objective, PermutationLanguageModel)
        return build_output_layer(candidate.objective.output_layer, candidate.architecture)

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> OrderedBatch:
        """Return the sequences with the tokens to predict and their order."""
        tokens, objective = in_text_order(sequences).tokens, self.objective
        words = Words(words_of(tokens, tokenizer))
        spans, count = selected(tokens, words, objective.selection, objective.predictions, tokenizer, random)
        positions = np.sort(np.argsort(spans == NONE, axis=1, kind="stable")[:, :count], axis=1)
        drawn, originals = (np.take_along_axis(each, positions, axis=1) for each in (spans, tokens))
        targets = np.where(drawn == NONE, NOT_PREDICTED, originals)
        unread = MaskedBatch(tokens, positions, targets, drawn)
        batch = continued(in_reading_order(unread, sequences), sequences, tokenizer)
        ranks = drawn_ranks(batch, objective.permutation_block, random)
        if self.pairs:  # all of the first half before the second
            ranks += tokens.shape[1] * halves(tokens)
        return OrderedBatch(**vars(batch), ranks=ranks)

    def device_batch(self, batch: OrderedBatch, random: np.random.Generator) -> ContinuedTensors:
        """Return the batch as tensors on the encoder's device, with the drawn order."""
        order = PredictionOrder(self.tensor(batch.ranks), self.tensor(batch.masked_positions))
        return self.continued_tensors(batch, order)

    def terms(self, batch: ContinuedTensors) -> tuple[Float[Tensor, ""], ...]:
        """Return the mean cross-entropy in nats of the predicted tokens, and the weighted one of the pairs."""
        streams = self.read(batch)
        loss, _ = prediction_loss(streams.query.flatten(0, 1), batch, self.head, self.token_table)
        if self.pair_head is None:
            return (loss,)
        classify = batch.inputs.shape[1] // 2  # [CLS] begins the second half
        assert batch.labels is not None
        pairs = cross_entropy(to_float32(self.pair_head(streams.content[:, classify:])), batch.labels)
        return loss, self.objective.next_sentence_weight * pairs

    def predictions_of_terms(self, batch: OrderedBatch) -> tuple[int, ...]:
        """Return the predicted tokens, and the pairs."""
        if self.pair_head is None:
            return (batch.predictions,)
        return batch.predictions, int((batch.labels != UNDEFINED).sum())

    def predict(
        self, inputs: Int[Tensor, "batch seq"], positions: Int[Tensor, "batch predictions"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return the logits at the predicted positions, row by row, each given all tokens that are not predicted."""
        ranks = torch.zeros_like(inputs).scatter(1, positions, 1)
        streams = read_streams(self.encoder, inputs, AttentionContext(order=PredictionOrder(ranks, positions)))
        logits: Tensor = self.head(streams.query.flatten(0, 1), self.token_table)
        return logits


def drawn_ranks(batch: MaskedBatch, block: int | None, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the rank of every token: all orders of the predicted tokens of a block have the same probability."""
    predicted = batch.targets != NOT_PREDICTED
    draws = random.random(batch.targets.shape)
    draws += 0 if block is None else batch.masked_positions // block
    draws[~predicted] = np.inf
    places = np.argsort(np.argsort(draws, axis=1), axis=1) + 1
    ranks = np.zeros_like(batch.inputs)
    np.put_along_axis(ranks, batch.masked_positions, np.where(predicted, places, 0), axis=1)
    return ranks
