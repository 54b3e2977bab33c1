"""Models that write a target text for a source: the interface of training and generation, and encoder–decoders."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from steeplechase.models.attention_context import DecodingContext
from steeplechase.models.decoder_loss import target_loss
from steeplechase.models.devices import on_device
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.generation.decoding import Decoding, target_decoding
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


NOT_PREDICTED = -100


@dataclass(frozen=True)
class PairTensors:
    """A batch of pairs on the model's device."""

    sources: Int[Tensor, "batch source"]
    source_mask: Bool[Tensor, "batch source"] | None
    inputs: Int[Tensor, "batch target"]
    """What the decoder reads: [CLS] and the target without its end."""
    targets: Int[Tensor, "batch target"]
    """What it predicts, NOT_PREDICTED behind the end."""

    @classmethod
    def of(cls, pairs: EncodedTextPairs, rows: Rows, start: int, device: torch.device) -> "PairTensors":
        """Return the pairs of some rows, cut to the longest of each side; `start` is the decoder's first token."""
        source, real = source_tensors(pairs, rows, device)
        lengths = np.asarray(pairs.target_lengths)[rows]
        longest = int(lengths.max())
        targets = np.asarray(pairs.targets)[rows, :longest].astype(np.int64)
        inputs = np.concatenate([np.full((len(rows), 1), start), targets[:, :-1]], 1)
        targets[np.arange(longest) >= lengths[:, None]] = NOT_PREDICTED
        return cls(source, real, torch.from_numpy(inputs).to(device), torch.from_numpy(targets).to(device))


class DecoderWriter(TextWriter):
    """An encoder–decoder; `start` is the first token that the decoder reads."""

    def __init__(self, model: EncoderDecoder, start: int) -> None:
        super().__init__(model)
        self.model, self.start = model, start

    def training_loss(
        self, pairs: EncodedTextPairs, rows: Rows, label_smoothing: float, random: np.random.Generator
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the tokens of the targets, their ends included."""
        return pair_loss(self.model, PairTensors.of(pairs, rows, self.start, self.device), label_smoothing)

    def target_losses(self, pairs: EncodedTextPairs, rows: Rows) -> Float[Tensor, " tokens"]:
        """Return the cross-entropy in nats of every token of the targets, in one pass."""
        batch = PairTensors.of(pairs, rows, self.start, self.device)
        logits = self.model.target_logits(batch.sources, batch.source_mask, batch.inputs)
        losses = cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), reduction="none")
        return losses[batch.targets.flatten() != NOT_PREDICTED]

    def decoding(
        self, sources: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch source"] | None, beams: int
    ) -> tuple[Decoding, Int[Tensor, "batch prompt"]]:
        """Return the decoding of the targets, which begins with `start`."""
        prompt = sources.new_full((len(sources), 1), self.start)
        return target_decoding(self.model, self.model.encode(sources, mask), beams), prompt


def pair_loss(model: EncoderDecoder, pairs: PairTensors, label_smoothing: float = 0.0) -> Float[Tensor, ""]:
    """Return the mean cross-entropy in nats over the tokens of the targets, their ends included."""
    context = DecodingContext(model.encode(pairs.sources, pairs.source_mask))
    return target_loss(model, model.decoder(pairs.inputs, context), pairs.targets, label_smoothing)
