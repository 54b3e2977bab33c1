"""Inputs whose masked tokens a generator samples. Clark et al. 2020 (ELECTRA), arXiv 2003.10555, section 3.1."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.encoder import Encoder
from models.heads.masked_language_model import MaskedLanguageModelHead
from tasks.masking import NOT_PREDICTED, MaskedBatch
from tasks.objectives.masked_tokens import masked_token_loss


@dataclass(frozen=True)
class GeneratedTokens:
    """A batch whose masked tokens are samples, drawn without a gradient."""

    loss: Float[Tensor, ""]
    """The generator's mean cross-entropy in nats."""
    inputs: Int[Tensor, "batch seq"]
    """The corrupted inputs."""
    replaced: Float[Tensor, "batch seq"]
    """1 where a sample differs from the original token; a correct sample counts as original."""


def generate(
    generator: Encoder,
    head: MaskedLanguageModelHead,
    table: Float[Tensor, "vocab embedding"],
    batch: MaskedBatch,
    random: np.random.Generator,
) -> GeneratedTokens:
    """Return the batch with a sampled token at every masked position."""
    device = generator.device
    inputs, positions, targets = (
        torch.from_numpy(each).to(device) for each in (batch.inputs, batch.masked_positions, batch.targets)
    )
    uniforms = torch.from_numpy(random.random(batch.targets.size, dtype=np.float32)).to(device)
    loss, sampled = masked_token_loss(generator(inputs), batch, head, table, uniforms)
    samples = torch.where(targets == NOT_PREDICTED, inputs.gather(1, positions), sampled)
    replaced = torch.zeros_like(inputs).scatter(1, positions, (sampled != targets).long())
    return GeneratedTokens(loss, inputs.scatter(1, positions, samples), replaced.float())
