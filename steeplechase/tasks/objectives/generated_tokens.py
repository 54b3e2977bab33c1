"""Inputs whose masked tokens a generator samples. Clark et al. 2020 (ELECTRA), arXiv 2003.10555, section 3.1."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.models.encoder import Encoder
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead, gather_masked
from steeplechase.models.kernels.vocabulary_cross_entropy import sample_tokens
from steeplechase.models.precision import to_float32
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, masked_token_loss


@dataclass(frozen=True)
class CorruptedInputs:
    """Inputs whose masked tokens are samples."""

    inputs: Int[Tensor, "batch seq"]
    replaced: Float[Tensor, "batch seq"]
    """1 where a sample differs from the original token; a correct sample counts as original."""


@dataclass(frozen=True)
class GeneratedTokens(CorruptedInputs):
    """Corrupted inputs whose samples were drawn without a gradient."""

    loss: Float[Tensor, ""]
    """The generator's mean cross-entropy in nats."""


@dataclass(frozen=True)
class SampledTokens(CorruptedInputs):
    """Corrupted inputs with what a policy gradient needs of each sample; special tokens are samples like others."""

    rows: Int[Tensor, " predicted"]
    """The number of every sample among all masked positions, row by row."""
    vectors: Float[Tensor, "predicted width"]
    """The generator's vector at every sample."""
    log_probabilities: Float[Tensor, " predicted"]
    """Of the samples, in nats."""


@dataclass(frozen=True)
class Generator:
    """A masked language model: an encoder, whose token table is the output layer, and the head."""

    encoder: Encoder
    head: MaskedLanguageModelHead

    @property
    def table(self) -> Float[Tensor, "vocab embedding"]:
        """The token embeddings."""
        table: Tensor = self.encoder.embeddings.tokens.weight
        return table

    def generate(self, batch: MaskedTensors) -> GeneratedTokens:
        """Return the batch with a sampled token at every masked position, and the loss on the original tokens."""
        loss, sampled = masked_token_loss(self.encoder(batch.inputs), batch, self.head, self.table, batch.uniforms)
        corrupted = corrupted_inputs(batch, sampled)
        return GeneratedTokens(corrupted.inputs, corrupted.replaced, loss)

    def sample(self, batch: MaskedTensors) -> SampledTokens:
        """Return the batch with a sampled token at every masked position, and the samples' log-probabilities."""
        rows, targets, uniforms = batch.predicted, batch.targets, batch.uniforms
        assert uniforms is not None
        vectors = gather_masked(self.encoder(batch.inputs), batch.positions)[rows]
        logits = to_float32(self.head(vectors, self.table))
        tokens = sample_tokens(logits.detach(), uniforms[rows])
        corrupted = corrupted_inputs(batch, targets.flatten().index_put((rows,), tokens).view_as(targets))
        log_probabilities = -cross_entropy(logits, tokens, reduction="none")
        return SampledTokens(corrupted.inputs, corrupted.replaced, rows, vectors, log_probabilities)


def corrupted_inputs(batch: MaskedTensors, sampled: Int[Tensor, "batch predictions"]) -> CorruptedInputs:
    """Return the batch with the sampled tokens at its masked positions, NOT_PREDICTED where there is none."""
    inputs, positions, targets = batch.inputs, batch.positions, batch.targets
    samples = torch.where(sampled == NOT_PREDICTED, inputs.gather(1, positions), sampled)
    replaced = torch.zeros_like(inputs).scatter(1, positions, (sampled != targets).long())
    return CorruptedInputs(inputs.scatter(1, positions, samples), replaced.float())
