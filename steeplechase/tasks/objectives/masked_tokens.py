"""What objectives with masked tokens share: the encoder with a vocabulary head, its losses and its evaluation set."""

import numpy as np
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


class MaskedTokenModel(PretrainingModel[Batch]):
    """An encoder with a vocabulary head; logits are computed at the predicted positions only.

    The held-out loss is the cross-entropy of masked tokens, whatever else the objective trains.
    """

    head: OutputHead

    def __init__(self, candidate: Candidate) -> None:
        super().__init__()
        recipe = candidate.recipe
        self.encoder = build_encoder(candidate.architecture, recipe.dropout, None, recipe.activation_checkpointing)
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
    batch: MaskedBatch,
    head: OutputHead,
    table: Float[Tensor, "vocab embedding"],
    uniforms: Uniforms = None,
) -> tuple[Float[Tensor, ""], Int[Tensor, "batch predictions"]]:
    """Return the mean cross-entropy in nats over the predicted tokens, and a token sampled at each of them.

    The loss is 0 without predictions. Positions that are not predicted keep their target, NOT_PREDICTED; so do all
    without uniform numbers.
    """
    x = gather_masked(hidden, on_device(batch.masked_positions, hidden.device))
    return prediction_loss(x, batch, head, table, uniforms)


def prediction_loss(
    x: Float[Tensor, "positions width"],
    batch: MaskedBatch,
    head: OutputHead,
    table: Float[Tensor, "vocab embedding"],
    uniforms: Uniforms = None,
) -> tuple[Float[Tensor, ""], Int[Tensor, "batch predictions"]]:
    """Return the same from the vectors at all positions of the batch, row by row."""
    predicted = batch.predicted
    targets = on_device(batch.targets, x.device)
    if predicted.all():
        loss, sampled = head.loss(x, table, targets.flatten(), uniforms)
        return loss, sampled.view_as(targets)
    if not predicted.any():
        return x.sum() * 0.0, targets
    rows = on_device(np.flatnonzero(predicted), x.device)
    uniforms = None if uniforms is None else uniforms[rows]
    loss, sampled = head.loss(x[rows], table, targets.flatten()[rows], uniforms)
    return loss, targets.flatten().index_put((rows,), sampled).view_as(targets)
