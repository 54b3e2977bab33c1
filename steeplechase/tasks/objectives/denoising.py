"""Denoising: the loss of a decoder's target given the corrupted source. BART, arXiv 1910.13461, section 2.2."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.corruption import Fragment
from search_space.corruption.option import Context, Corrupted
from search_space.objective.denoising import Denoising
from search_space.packing.sequences import Sequences
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.foundation.randomness import stream
from steeplechase.models.attention_context import DecodingContext
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder_decoder import EncoderDecoder, target_loss
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.masking import Rows
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource, PretrainingModel
from steeplechase.tasks.tokenizer import Tokenizer

CORRUPTION = "held-out corruption"
NO_TOKEN = -1
"""Behind the end of a shorter source of an evaluation set."""


@dataclass(frozen=True)
class DenoisingBatch(Rows):
    """Sources and targets of a batch, filled up to the longest of each."""

    source: NDArray[np.int64]
    """With [CLS] and [SEP], then padding [batch source]."""
    real: NDArray[np.bool_]
    """False at the source's padding [batch source]."""
    inputs: NDArray[np.int64]
    """What the decoder reads [batch target]."""
    places: NDArray[np.int64]
    """The positions of the inputs [batch target]."""
    targets: NDArray[np.int64]
    """What it predicts, or NOT_PREDICTED behind the end of a shorter target [batch target]."""

    @property
    def predictions(self) -> int:
        """Number of predicted tokens."""
        return int((self.targets != NOT_PREDICTED).sum())

    def with_sources_of(self, longest: int | None) -> "DenoisingBatch":
        """Return the batch with sources of at most `longest` tokens, each of which still ends in its [SEP].

        Inserted masks can make a source longer than its text, and so than the positions of the encoder.
        """
        if longest is None or self.source.shape[1] <= longest:
            return self
        source, too_long = self.source[:, :longest].copy(), self.real[:, longest]
        ends = np.take_along_axis(self.source, self.real.sum(1, keepdims=True) - 1, 1)
        source[too_long, -1] = ends[too_long, 0]
        return replace(self, source=source, real=self.real[:, :longest])


@dataclass(frozen=True)
class DenoisingTensors:
    """A batch on the device."""

    source: Int[Tensor, "batch source"]
    real: Bool[Tensor, "batch source"] | None
    """False at the source's padding; None without any."""
    inputs: Int[Tensor, "batch target"]
    places: Int[Tensor, "batch target"]
    reach: int
    """The largest place and 1."""
    targets: Int[Tensor, "batch target"]
    rows: Int[Tensor, " predicted"]
    """The numbers of the predicted tokens, row by row."""


class Model(PretrainingModel[DenoisingBatch]):
    """An encoder with a decoder, whose output layer is part of both."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__()
        assert isinstance(candidate.objective, Denoising)
        self.corruption, recipe = candidate.objective.corruption, candidate.recipe
        self.label_smoothing = recipe.label_smoothing
        built = build_encoder(candidate.architecture, recipe.dropout, recipe.activation_checkpointing)
        assert isinstance(built, EncoderDecoder)
        self.encoder: EncoderDecoder = built

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> DenoisingBatch:
        """Return the corrupted sequences with their targets."""
        context = Context(tokenizer, random)
        return batch_of([self.corruption.corrupted(row[1:-1], context) for row in sequences.tokens], tokenizer)

    def device_batch(self, batch: DenoisingBatch, random: np.random.Generator) -> DenoisingTensors:
        """Return source, padding, decoder inputs and targets as tensors on the encoder's device."""
        batch = batch.with_sources_of(self.encoder.architecture.longest_sequence)
        return DenoisingTensors(
            self.tensor(batch.source),
            None if batch.real.all() else self.tensor(batch.real),
            self.tensor(batch.inputs),
            self.tensor(batch.places),
            int(batch.places.max()) + 1,
            self.tensor(batch.targets),
            self.tensor(np.flatnonzero(batch.targets != NOT_PREDICTED)),
        )

    def terms(self, batch: DenoisingTensors) -> tuple[Float[Tensor, ""]]:
        """Return the mean cross-entropy in nats over the predicted tokens, smoothed as the recipe declares."""
        smoothing = self.label_smoothing if self.training else 0.0
        return (target_loss(self.encoder, self._states(batch), batch.targets, smoothing, batch.rows),)

    def _states(self, batch: DenoisingTensors) -> Float[Tensor, "batch target width"]:
        context = DecodingContext(self.encoder.encode(batch.source, batch.real))
        states: Tensor = self.encoder.decoder(batch.inputs, context, places=batch.places, reach=batch.reach)
        return states

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return the sequences corrupted by the reference's objective, with every predicted token.

        `inputs` has the source, filled up with NO_TOKEN, and behind it the decoder's inputs, as many as positions.
        """
        objective = source.reference.objective
        assert isinstance(objective, Denoising)
        context = Context(source.tokenizer, stream(source.seed, CORRUPTION))
        rows = [objective.corruption.corrupted(row[1:-1], context) for row in source.sequences.tokens]
        batch = batch_of(rows, source.tokenizer)
        filled = np.where(batch.real, batch.source, NO_TOKEN)
        inputs, predicted = np.concatenate([filled, batch.inputs], 1), batch.targets != NOT_PREDICTED
        if predicted.all():
            return EvaluationSet(inputs, batch.places, batch.targets)
        shape = (len(inputs), -1)  # rows of one length have equally many predictions
        return EvaluationSet(inputs, batch.places[predicted].reshape(shape), batch.targets[predicted].reshape(shape))

    def prediction_losses(self, part: EvaluationSet) -> Tensor:
        """Return the cross-entropy in nats of every predicted token, without smoothing."""
        batch = self.device_batch(self._read(part), np.random.default_rng(0))  # of which nothing is drawn
        targets = batch.targets.flatten()
        logits = self.encoder.logits(self._states(batch)).flatten(0, 1)
        found = cross_entropy(logits, targets, ignore_index=NOT_PREDICTED, reduction="none")
        return found[targets != NOT_PREDICTED]

    def _read(self, part: EvaluationSet) -> DenoisingBatch:
        """Return rows of an evaluation set as a batch."""
        if not (isinstance(self.corruption, Fragment) and self.corruption.reads_all):
            count = part.targets.shape[1]
            source, inputs = part.inputs[:, :-count], part.inputs[:, -count:]
            return DenoisingBatch(source.clip(0), source != NO_TOKEN, inputs, part.positions, part.targets)
        steps = part.inputs.shape[1] // 2 - 1  # the source has [CLS] and [SEP] too
        targets = np.full((len(part.inputs), steps), NOT_PREDICTED)
        np.put_along_axis(targets, part.positions, part.targets, 1)
        places = np.broadcast_to(np.arange(steps), targets.shape).copy()
        source, inputs = part.inputs[:, :-steps], part.inputs[:, -steps:]
        return DenoisingBatch(source.clip(0), source != NO_TOKEN, inputs, places, targets)

    def pseudo_log_likelihoods(
        self, sentences: Int[np.ndarray, "sentences seq"], mask: int
    ) -> Float[np.ndarray, " sentences"]:
        """Return the log-likelihood of each sentence as the target of a source that is one [MASK]."""
        source = sentences[:, [0, 1, -1]].copy()
        source[:, 1] = mask
        encoded = self.encoder.encode(self.tensor(source))
        states = self.encoder.decoder(self.tensor(sentences[:, :-1].copy()), DecodingContext(encoded))
        targets = self.tensor(sentences[:, 1:].copy()).flatten()
        losses = cross_entropy(self.encoder.logits(states).flatten(0, 1), targets, reduction="none")
        scores: np.ndarray = -losses.double().cpu().numpy().reshape(len(sentences), -1)[:, :-1].sum(1)
        return scores


def batch_of(rows: list[Corrupted], tokenizer: Tokenizer) -> DenoisingBatch:
    """Return corrupted texts as one batch."""
    sources = [np.concatenate(([tokenizer.classify], row.source, [tokenizer.separate])) for row in rows]
    source = _filled(sources, tokenizer.pad)
    return DenoisingBatch(
        source,
        np.arange(source.shape[1])[None] < np.asarray([len(each) for each in sources])[:, None],
        _filled([row.inputs for row in rows], tokenizer.pad),
        _filled([row.places for row in rows], 0),
        _filled([row.targets for row in rows], NOT_PREDICTED),
    )


def _filled(rows: list[NDArray[np.int64]], fill: int) -> NDArray[np.int64]:
    whole = np.full((len(rows), max(map(len, rows))), fill, np.int64)
    for row, values in zip(whole, rows, strict=True):
        row[: len(values)] = values
    return whole
