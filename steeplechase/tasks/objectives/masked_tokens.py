"""What objectives with masked tokens share: the encoder with a vocabulary head, its losses and its evaluation set."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.candidate import Candidate
from search_space.objective.masked_language_model import Masking
from steeplechase.foundation.randomness import stream
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.devices import on_device
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead, gather_masked
from steeplechase.models.kernels.vocabulary_cross_entropy import Uniforms
from steeplechase.models.output_layer import OutputHead
from steeplechase.models.precision import to_float32
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.masking import MaskedBatch, mask
from steeplechase.tasks.objectives.pretraining_model import Batch, EvaluationSource, PretrainingModel


@dataclass(frozen=True)
class MaskedTensors:
    """A masked batch on the device, with what the host knows of it."""

    inputs: Int[Tensor, "batch seq"]
    positions: Int[Tensor, "batch predictions"]
    targets: Int[Tensor, "batch predictions"]
    """The original tokens at the positions, or NOT_PREDICTED."""
    rows: Int[Tensor, " predicted"] | None
    """The numbers of the predicted positions, row by row; None where all are."""
    real: PaddingMask = None
    """False at padding; None without any."""
    uniforms: Float[Tensor, " positions"] | None = None
    """A number for each position, at which a token is sampled."""
    varying: ClassVar[tuple[str, ...]] = ("rows", "groups")
    """The fields whose lengths differ from batch to batch."""
    groups: tuple[Tensor, ...] = ()
    """Of an output layer that computes its loss in groups of predictions: their numbers."""

    @property
    def predicted(self) -> Int[Tensor, " predicted"]:
        """The numbers of the predicted positions, row by row."""
        return torch.arange(self.targets.numel(), device=self.targets.device) if self.rows is None else self.rows


def masked_tensors(
    batch: MaskedBatch, device: torch.device, real: PaddingMask = None, uniforms: NDArray[np.float32] | None = None
) -> MaskedTensors:
    """Return a masked batch on a device."""
    arrays = (batch.inputs, batch.masked_positions, batch.targets)
    inputs, positions, targets = (on_device(each, device) for each in arrays)
    rows = None if batch.predicted.all() else on_device(np.flatnonzero(batch.predicted), device)
    drawn = None if uniforms is None else on_device(uniforms, device)
    return MaskedTensors(inputs, positions, targets, rows, real, drawn)


class MaskedTokenModel(PretrainingModel[Batch]):
    """An encoder with a vocabulary head; logits are computed at the predicted positions only.

    The held-out loss is the cross-entropy of masked tokens, whatever else the objective trains.
    """

    head: OutputHead

    def __init__(self, candidate: Candidate) -> None:
        super().__init__()
        recipe = candidate.recipe
        self.encoder = build_encoder(candidate.architecture, recipe.dropout, recipe.activation_checkpointing)
        self.head = self.build_head(candidate)

    def build_head(self, candidate: Candidate) -> OutputHead:
        """Return the head of masked language modelling."""
        return MaskedLanguageModelHead(candidate.architecture)

    @property
    def token_table(self) -> Float[Tensor, "vocab embedding"]:
        """The token embeddings, shared with the output layer (tied weights)."""
        return self.encoder.embeddings.tokens.weight

    def predicting_vectors(
        self, inputs: Int[Tensor, "batch seq"], padding_mask: PaddingMask = None
    ) -> Float[Tensor, "batch seq width"]:
        """Return the vector at each position that predicts its token."""
        hidden: Tensor = self.encoder(inputs, None, padding_mask)
        return hidden

    def masked_tensors(self, batch: MaskedBatch, real: NDArray[np.bool_]) -> MaskedTensors:
        """Return a batch on the device, `real` where it is not padding, with what the output layer asks of it."""
        masked = masked_tensors(batch, self.encoder.device, self.padding_mask(real))
        groups = self.head.groups(batch.targets.ravel()[batch.predicted])
        return replace(masked, groups=tuple(self.tensor(each) for each in groups))

    def padding_mask(self, real: NDArray[np.bool_]) -> PaddingMask:
        """Return the mask of the tokens that are not padding; None if all are."""
        return None if real.all() else self.tensor(real)

    def predict(
        self, inputs: Int[Tensor, "batch seq"], positions: Int[Tensor, "batch predictions"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return the logits at the predicted positions, row by row; predicted = batch x predictions."""
        logits: Tensor = self.head(gather_masked(self.predicting_vectors(inputs), positions), self.token_table)
        return logits

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return the sequences masked by the reference's objective, with every masked token as a prediction."""
        masking = source.reference.objective
        assert isinstance(masking, Masking)
        random = stream(source.seed, "held-out masking")
        return mask(source.sequences, masking, source.tokenizer, random).evaluation_set(random)

    def prediction_losses(self, part: EvaluationSet) -> Tensor:
        """Return the cross-entropy in nats at every predicted position."""
        logits = to_float32(self.predict(self.tensor(part.inputs), self.tensor(part.positions)))
        return cross_entropy(logits, self.tensor(part.targets).flatten(), reduction="none")

    def pseudo_log_likelihoods(
        self, sentences: Int[np.ndarray, "sentences seq"], mask: int
    ) -> Float[np.ndarray, " sentences"]:
        """Return the sum of each token's log-probability where it alone is masked. Salazar et al. 2020, eq. 1."""
        count, inside = len(sentences), sentences.shape[1] - 2
        copies = np.repeat(sentences, inside, axis=0)
        positions = np.tile(np.arange(1, inside + 1), count)[:, None]
        targets = np.take_along_axis(copies, positions, axis=1)
        np.put_along_axis(copies, positions, mask, axis=1)
        logits = self.predict(self.tensor(copies), self.tensor(positions))
        losses = cross_entropy(logits.float(), self.tensor(targets).flatten(), reduction="none")
        scores: np.ndarray = -losses.double().cpu().numpy().reshape(count, inside).sum(1)
        return scores


def masked_token_loss(
    hidden: Float[Tensor, "batch seq width"],
    batch: MaskedTensors,
    head: OutputHead,
    table: Float[Tensor, "vocab embedding"],
    uniforms: Uniforms = None,
) -> tuple[Float[Tensor, ""], Int[Tensor, "batch predictions"]]:
    """Return the mean cross-entropy in nats over the predicted tokens, and a token sampled at each of them.

    The loss is 0 without predictions. Positions that are not predicted keep their target, NOT_PREDICTED; so do all
    without uniform numbers.
    """
    return prediction_loss(gather_masked(hidden, batch.positions), batch, head, table, uniforms)


def prediction_loss(
    x: Float[Tensor, "positions width"],
    batch: MaskedTensors,
    head: OutputHead,
    table: Float[Tensor, "vocab embedding"],
    uniforms: Uniforms = None,
) -> tuple[Float[Tensor, ""], Int[Tensor, "batch predictions"]]:
    """Return the same from the vectors at all positions of the batch, row by row."""
    targets, rows = batch.targets, batch.rows
    loss_of = partial(head.grouped_loss, groups=batch.groups)
    if rows is None:
        loss, sampled = loss_of(x, table, targets.flatten(), uniforms)
        return loss, sampled.view_as(targets)
    if not len(rows):
        return x.sum() * 0.0, targets
    loss, sampled = loss_of(x[rows], table, targets.flatten()[rows], None if uniforms is None else uniforms[rows])
    return loss, targets.flatten().index_put((rows,), sampled).view_as(targets)
