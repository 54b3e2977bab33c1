"""The interface of a model that writes a target text for a source: its training, and its generation."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from steeplechase.models.devices import on_device
from steeplechase.models.generation.decoding import Decoding
from steeplechase.tasks.labelled.text_pairs import EncodedTextPairs

Rows = NDArray[np.int64]
"""The pairs of a batch."""


class TextWriter(ABC):
    """A module with what is done to it; one subclass for each way of writing a text."""

    equal_sources: bool = False
    """Whether the sources of a batch that is decoded have one length."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.module.parameters()).device

    @abstractmethod
    def training_loss(
        self, pairs: EncodedTextPairs, rows: Rows, label_smoothing: float, random: np.random.Generator
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the predicted tokens of a batch of pairs."""

    @abstractmethod
    def target_losses(self, pairs: EncodedTextPairs, rows: Rows) -> Float[Tensor, " tokens"]:
        """Return the cross-entropy in nats of every token of the targets, their ends included, by the chain rule.

        Sources have one length where `equal_sources` says so.
        """

    @abstractmethod
    def decoding(
        self, sources: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch source"] | None, beams: int
    ) -> tuple[Decoding, Int[Tensor, "batch prompt"]]:
        """Return the decoding of the targets, and the tokens that it begins with."""

    def batches(self, lengths: NDArray[np.int32], size: int) -> Iterable[Rows]:
        """Yield rows of similar lengths, or of one length where `equal_sources` says so, at most `size` at a time."""
        order = np.argsort(lengths, kind="stable")
        changes = np.flatnonzero(np.diff(lengths[order])) + 1
        for part in np.split(order, changes) if self.equal_sources else [order]:
            yield from (part[first : first + size] for first in range(0, len(part), size))


def source_tensors(
    pairs: EncodedTextPairs, rows: Rows, device: torch.device
) -> tuple[Int[Tensor, "batch source"], Bool[Tensor, "batch source"] | None]:
    """Return the sources of some rows, and their padding mask; None where nothing is padding."""
    lengths = np.asarray(pairs.sources.lengths)[rows]
    longest = int(lengths.max())
    tokens = on_device(np.asarray(pairs.sources.tokens)[rows, :longest].astype(np.int64), device)
    real = np.arange(longest) < lengths[:, None]
    return tokens, None if real.all() else on_device(real, device)
