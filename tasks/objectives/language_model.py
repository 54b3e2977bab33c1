"""Language modelling in one direction: each token is predicted from the tokens before it, or behind it."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from models.convolution import PaddingMask
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from tasks.batches import Sequences
from tasks.evaluation_set import EvaluationSet
from tasks.masking import NOT_PREDICTED, MaskedBatch, PaddedBatch, padded
from tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from tasks.objectives.pretraining_model import EvaluationSource
from tasks.selection import NONE
from tasks.tokenizer import Tokenizer


class Model(MaskedTokenModel[PaddedBatch]):
    """An encoder that sees one side of each token, with a vocabulary head; nothing is masked."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        self.step = 1 if candidate.architecture.visibility == "left_to_right" else -1

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> PaddedBatch:
        """Return the sequences with every ordinary token as a prediction; nothing is drawn."""
        return padded(every_token(sequences, tokenizer), sequences, tokenizer)

    def predicting_vectors(
        self, inputs: Int[Tensor, "batch seq"], padding_mask: PaddingMask = None
    ) -> Float[Tensor, "batch seq width"]:
        """Return at each position the vector that predicts its token: that of the neighbour on the visible side."""
        return super().predicting_vectors(inputs, padding_mask).roll(self.step, 1)

    def loss_terms(self, batch: PaddedBatch, random: np.random.Generator) -> tuple[Float[Tensor, ""]]:
        """Return the mean cross-entropy in nats over the predicted tokens."""
        vectors = self.predicting_vectors(self.tensor(batch.inputs), self.padding_mask(batch.real))
        return (masked_token_loss(vectors, batch, self.head, self.token_table)[0],)

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return the sequences with all their ordinary tokens; where rows have different numbers, as many of each."""
        return every_token(source.sequences, source.tokenizer).evaluation_set(np.random.default_rng(source.seed))

    def held_out_losses(self, evaluation_set: EvaluationSet) -> NDArray[np.float32]:
        """Return the cross-entropy in nats of every predicted token given the unmasked text on its visible side."""
        inputs = evaluation_set.inputs.copy()
        np.put_along_axis(inputs, evaluation_set.positions, evaluation_set.targets, axis=1)
        return super().held_out_losses(replace(evaluation_set, inputs=inputs))

    def pseudo_log_likelihoods(
        self, sentences: Int[np.ndarray, "sentences seq"], mask: int
    ) -> Float[np.ndarray, " sentences"]:
        """Return the log-likelihood of each sentence by the chain rule, in one pass; no token is masked."""
        count, inside = len(sentences), sentences.shape[1] - 2
        positions = torch.from_numpy(np.tile(np.arange(1, inside + 1), (count, 1))).to(self.encoder.device)
        targets = self.tensor(sentences[:, 1:-1]).flatten()
        losses = cross_entropy(self.predict(self.tensor(sentences), positions).float(), targets, reduction="none")
        scores: np.ndarray = -losses.double().cpu().numpy().reshape(count, inside).sum(1)
        return scores


def every_token(sequences: Sequences, tokenizer: Tokenizer) -> MaskedBatch:
    """Return the unchanged sequences with every token inside as a prediction, special tokens and padding left out."""
    tokens = sequences.tokens
    positions = np.tile(np.arange(1, tokens.shape[1] - 1), (len(tokens), 1))
    targets = tokens[:, 1:-1].copy()
    targets[np.isin(targets, (tokenizer.pad, tokenizer.classify, tokenizer.separate))] = NOT_PREDICTED
    return MaskedBatch(tokens, positions, targets, np.where(targets == NOT_PREDICTED, NONE, positions))
