"""Masked language modelling with one of four visibilities for each sequence. UNILM, arXiv 1905.03197, section 2."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective.mixed_visibility import SEGMENTS, MixedVisibility
from search_space.packing.sequences import Sequences
from search_space.visibility import Visibility
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.visible_tokens import visible_tokens
from steeplechase.tasks.masking import PaddedBatch, mask, padded
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, MaskedTokenModel, masked_token_loss
from steeplechase.tasks.tokenizer import Tokenizer

SEGMENT_OF: dict[Visibility, tuple[int, int]] = {
    "bidirectional": (0, 0),
    "left_to_right": (2, 2),
    "right_to_left": (3, 3),
    "prefix": (4, 5),
}
"""Segments of the source and of what follows it, where the architecture tells the visibilities apart."""


@dataclass(frozen=True)
class VisibleBatch(PaddedBatch):
    """A batch with the visibility of each sequence, as its number among the objective's."""

    visibilities: NDArray[np.int64]
    """[batch]."""


@dataclass(frozen=True)
class VisibleTensors(MaskedTensors):
    """A batch on the device."""

    context: AttentionContext = NO_CONTEXT
    segments: Int[Tensor, "batch seq"] | None = None


class Model(MaskedTokenModel[VisibleBatch]):
    """An encoder with a vocabulary head, whose attention hides other tokens in other sequences."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, MixedVisibility)
        self.objective = candidate.objective
        self.tells_apart = candidate.architecture.segments >= SEGMENTS

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> VisibleBatch:
        """Return the sequences with masks, and a drawn visibility for each."""
        batch = padded(mask(sequences, self.objective, tokenizer, random), sequences, tokenizer)
        shares = np.asarray([share for _, share in self.objective.shares])
        drawn = random.choice(len(shares), len(sequences.tokens), p=shares / shares.sum())
        return VisibleBatch(**vars(batch), visibilities=drawn)

    def device_batch(self, batch: VisibleBatch, random: np.random.Generator) -> VisibleTensors:
        """Return the batch as tensors on the encoder's device, with what each sequence may read."""
        length = batch.inputs.shape[1]
        names = [self.objective.shares[number][0] for number in batch.visibilities.tolist()]
        source = round(self.objective.source_share * length)
        context = AttentionContext(visible=visible_tokens(names, length, source, self.encoder.device))
        masked = self.masked_tensors(batch, batch.real)
        return VisibleTensors(**vars(masked), context=context, segments=self._segments(names, length, source))

    def terms(self, batch: VisibleTensors) -> tuple[Float[Tensor, ""]]:
        """Return the mean cross-entropy in nats over the predicted positions."""
        vectors = self.encoder.read(batch.inputs, batch.segments, batch.real, batch.context)
        return (masked_token_loss(vectors, batch, self.head, self.token_table)[0],)

    def _segments(self, names: list[Visibility], length: int, source: int) -> Int[Tensor, "batch seq"] | None:
        if not self.tells_apart:
            return None
        rows = torch.tensor([SEGMENT_OF[name] for name in names], device=self.encoder.device)
        return rows.repeat_interleave(torch.tensor([source, length - source], device=rows.device), dim=1)
