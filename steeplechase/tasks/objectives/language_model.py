"""Language modelling in one direction: each token is predicted from the tokens before it, or behind it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from search_space.packing.sequences import Sequences
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.encoder import Encoder
from steeplechase.models.heads.masked_language_model import gather_masked
from steeplechase.models.output_layer import OutputHead, build_output_layer
from steeplechase.models.precision import to_float32
from steeplechase.models.segment_memory import KeptMemory, SegmentMemory, read_segment
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.masking import MaskedBatch, PaddedBatch, padded
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, MaskedTokenModel, masked_token_loss
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource
from steeplechase.tasks.tokenizer import Tokenizer

LANES = 8
"""Into which a held-out text is cut where a memory is read; constant, so that results are reproducible."""


@dataclass(frozen=True)
class SegmentBatch(PaddedBatch):
    """A batch with the number of each sequence in the text, by which a memory knows what continues."""

    numbers: NDArray[np.int64]
    """[batch]."""


@dataclass(frozen=True)
class SegmentTensors(MaskedTensors):
    """A batch on the device."""

    numbers: Int[Tensor, " batch"] | None = None
    """The number of each sequence in the text; None without a memory."""


class Model(MaskedTokenModel[SegmentBatch]):
    """An encoder that sees one side of each token, with an output layer; nothing is masked."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        self.step = 1 if candidate.architecture.visibility == "left_to_right" else -1
        self.consecutive = candidate.objective.packing.consecutive
        assert isinstance(candidate.objective, LanguageModel)
        self.predicted_share = candidate.objective.predicted_share
        keeps = candidate.architecture.memory > 0
        self.memory = KeptMemory(self.encoder, candidate.recipe.batch_sequences) if keeps else None

    def build_head(self, candidate: Candidate) -> OutputHead:
        """Return the output layer that the objective declares."""
        assert isinstance(candidate.objective, LanguageModel)
        return build_output_layer(candidate.objective.output_layer, candidate.architecture)

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> SegmentBatch:
        """Return the sequences with every ordinary token as a prediction; nothing is drawn."""
        predicted = self._share_of(every_token(sequences, tokenizer, self.consecutive))
        batch = padded(predicted, sequences, tokenizer)
        return SegmentBatch(**vars(batch), numbers=sequences.numbers)

    def _share_of(self, batch: MaskedBatch) -> MaskedBatch:
        """Return the batch with the declared share of its predictions: those with most text on their visible side."""
        count = max(1, round(self.predicted_share * batch.targets.shape[1]))
        kept = slice(-count, None) if self.step == 1 else slice(count)
        columns = (batch.masked_positions[:, kept], batch.targets[:, kept], batch.spans[:, kept])
        return batch if self.predicted_share == 1 else MaskedBatch(batch.inputs, *columns)

    def predicting_vectors(
        self, inputs: Int[Tensor, "batch seq"], padding_mask: PaddingMask = None
    ) -> Float[Tensor, "batch seq width"]:
        """Return at each position the vector that predicts its token: that of the neighbour on the visible side."""
        if self.consecutive:
            return _moved(super().predicting_vectors(inputs[:, :-1]))
        return super().predicting_vectors(inputs, padding_mask).roll(self.step, 1)

    def device_batch(self, batch: SegmentBatch, random: np.random.Generator) -> SegmentTensors:
        """Return inputs, targets and, for a memory, numbers of segments as tensors on the encoder's device."""
        masked = self.masked_tensors(batch, batch.real)
        return SegmentTensors(**vars(masked), numbers=None if self.memory is None else self.tensor(batch.numbers))

    def terms(self, batch: SegmentTensors) -> tuple[Float[Tensor, ""]]:
        """Return the mean cross-entropy in nats over the predicted tokens; a memory is kept for the next batch."""
        if self.memory is None or batch.numbers is None:
            vectors = self.predicting_vectors(batch.inputs, batch.real)
        else:
            hidden, after = read_segment(self.encoder, batch.inputs[:, :-1], self.memory.before(batch.numbers))
            if self.training:
                self.memory.keep(batch.numbers, after)
            vectors = _moved(hidden)
        return (masked_token_loss(vectors, batch, self.head, self.token_table)[0],)

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return the sequences with all their ordinary tokens; where rows have different numbers, as many of each."""
        batch = every_token(source.sequences, source.tokenizer, source.reference.objective.packing.consecutive)
        return batch.evaluation_set(np.random.default_rng(source.seed))

    def held_out_losses(self, evaluation_set: EvaluationSet) -> NDArray[np.float32]:
        """Return the cross-entropy in nats of every predicted token given the unmasked text on its visible side.

        With a memory, the rows of the set are consecutive segments: they are read in order, in a few lanes.
        """
        inputs = evaluation_set.inputs.copy()
        np.put_along_axis(inputs, evaluation_set.positions, evaluation_set.targets, axis=1)
        if self.memory is None:
            return super().held_out_losses(replace(evaluation_set, inputs=inputs))
        losses = np.empty(evaluation_set.targets.shape, np.float32)
        positions, targets = (self.tensor(each) for each in (evaluation_set.positions, evaluation_set.targets))
        for rows, hidden in segments_in_lanes(self.encoder, self.tensor(inputs), self.encoder.architecture.memory):
            x = gather_masked(_moved(hidden), positions[rows])
            logits = to_float32(self.head(x, self.token_table))
            found = cross_entropy(logits, targets[rows].flatten(), reduction="none")
            losses[rows] = found.view(targets[rows].shape).cpu().numpy()
        return losses

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


def every_token(sequences: Sequences, tokenizer: Tokenizer, consecutive: bool = False) -> MaskedBatch:
    """Return the unchanged sequences with every token inside as a prediction, special tokens and padding left out.

    Of consecutive segments, which have no [CLS] and no [SEP] at their ends, the first token alone is no prediction.
    """
    tokens = sequences.tokens
    end = tokens.shape[1] - (0 if consecutive else 1)
    positions = np.tile(np.arange(1, end), (len(tokens), 1))
    targets = tokens[:, 1:end].copy()
    targets[np.isin(targets, (tokenizer.pad, tokenizer.classify, tokenizer.separate))] = NOT_PREDICTED
    return MaskedBatch(tokens, positions, targets, np.where(targets == NOT_PREDICTED, NONE, positions))


def segments_in_lanes(
    encoder: Encoder, tokens: Int[Tensor, "segments seq"], memory: int
) -> Iterator[tuple[NDArray[np.int64], Float[Tensor, "lanes read width"]]]:
    """Yield consecutive segments with the hidden states of all their tokens but the last, each with its memory.

    The segments are cut into lanes of equal length, each of which begins with an empty memory.
    """
    length = -(-len(tokens) // LANES)
    kept = SegmentMemory.empty(encoder, LANES, memory)
    for place in range(length):
        rows = np.arange(LANES) * length + place
        inside = rows < len(tokens)
        hidden, kept = read_segment(encoder, tokens[np.where(inside, rows, 0)][:, :-1], kept)
        yield rows[inside], hidden[torch.from_numpy(inside).to(hidden.device)]


def _moved(hidden: Float[Tensor, "batch read width"]) -> Float[Tensor, "batch seq width"]:
    """Return at each position the vector of the token before; the first position predicts nothing."""
    return torch.cat([hidden[:, :1], hidden], 1)
