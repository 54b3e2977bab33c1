"""Trains an encoder–decoder on sources and targets, and averages its checkpoints. arXiv 1706.03762, section 5."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from models.encoder_decoder import EncoderDecoder
from models.precision import Precision, autocast_to
from runners.training.optimisers.parameter_groups import set_rate
from tasks.labelled.text_pairs import EncodedTextPairs

NOT_PREDICTED = -100
GRADIENT_NORM_LIMIT = 1.0
Order = Callable[[int], Sequence[NDArray[np.int64]]]
"""From an epoch to the pairs of every batch."""


@dataclass(frozen=True)
class TrainingSettings:
    """How pairs are trained on."""

    epochs: int
    peak_rate: float
    warmup_share: float
    schedule: str
    label_smoothing: float
    averaged_checkpoints: int
    precision: Precision

    def rate(self, update: int, updates: int) -> float:
        """Return the learning rate of the update after `update` of `updates`; it is never 0."""
        warmup = max(1.0, updates * self.warmup_share)
        rising = (update + 1) / warmup
        if self.schedule == "inverse_square_root":
            return self.peak_rate * min(rising, math.sqrt(warmup / (update + 1)))
        return self.peak_rate * min(rising, (updates - update) / max(1.0, updates - warmup), 1.0)


@dataclass(frozen=True)
class PairTensors:
    """A batch of pairs on the model's device."""

    sources: Tensor
    source_mask: Tensor | None
    inputs: Tensor
    """What the decoder reads: [CLS] and the target without its end [batch target]."""
    targets: Tensor
    """What it predicts, NOT_PREDICTED behind the end [batch target]."""

    @classmethod
    def of(cls, pairs: EncodedTextPairs, rows: NDArray[np.int64], start: int, device: torch.device) -> "PairTensors":
        """Return the pairs of some rows, cut to the longest of each side; `start` is the decoder's first token."""
        source, real = source_tensors(pairs, rows, device)
        lengths = np.asarray(pairs.target_lengths)[rows]
        longest = int(lengths.max())
        targets = np.asarray(pairs.targets)[rows, :longest].astype(np.int64)
        inputs = np.concatenate([np.full((len(rows), 1), start), targets[:, :-1]], 1)
        targets[np.arange(longest) >= lengths[:, None]] = NOT_PREDICTED
        return cls(source, real, torch.from_numpy(inputs).to(device), torch.from_numpy(targets).to(device))


def source_tensors(
    pairs: EncodedTextPairs, rows: NDArray[np.int64], device: torch.device
) -> tuple[Tensor, Tensor | None]:
    """Return the sources of some rows [batch source], and their padding mask; None where nothing is padding."""
    lengths = np.asarray(pairs.sources.lengths)[rows]
    longest = int(lengths.max())
    tokens = torch.from_numpy(np.asarray(pairs.sources.tokens)[rows, :longest].astype(np.int64)).to(device)
    real = torch.from_numpy(np.arange(longest) < lengths[:, None]).to(device)
    return tokens, None if bool(real.all()) else real


@dataclass(frozen=True)
class TrainingPairs:
    """What is trained on."""

    pairs: EncodedTextPairs
    start: int
    """The first token that the decoder reads."""


class NotFiniteUpdate(Exception):
    """The loss or a gradient of an update was not finite."""

    def __init__(self, update: int, loss: float) -> None:
        self.update, self.loss = update, loss
        super().__init__(f"loss {loss} at update {update}")


def train_pairs(
    model: EncoderDecoder,
    training: TrainingPairs,
    settings: TrainingSettings,
    optimiser: torch.optim.Optimizer,
    order: Order,
    before: Callable[[int], None],
    after: Callable[[float, float], None],
) -> None:
    """Train the model, and give it the mean of its weights after each of the last epochs.

    `before` is called with the number of each update, to draw its dropout from; `after` with the share of the updates
    that are done and the loss. Raises NotFiniteUpdate.
    """
    batches = [(epoch, rows) for epoch in range(settings.epochs) for rows in order(epoch)]
    averaged = _AveragedWeights(model)
    for number, (epoch, rows) in enumerate(batches):
        model.train()
        before(number)
        set_rate(optimiser, settings.rate(number, len(batches)))
        with autocast_to(settings.precision, model.device):
            loss = pair_loss(
                model, PairTensors.of(training.pairs, rows, training.start, model.device), settings.label_smoothing
            )
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), GRADIENT_NORM_LIMIT).item()
        if not (math.isfinite(loss.item()) and math.isfinite(norm)):
            raise NotFiniteUpdate(number, loss.item())
        optimiser.step()
        after((number + 1) / len(batches), loss.item())
        ends_epoch = number + 1 == len(batches) or batches[number + 1][0] != epoch
        if ends_epoch and epoch >= settings.epochs - settings.averaged_checkpoints:
            averaged.add()
    averaged.apply()


def pair_loss(model: EncoderDecoder, pairs: PairTensors, label_smoothing: float = 0.0) -> Float[Tensor, ""]:
    """Return the mean cross-entropy in nats over the tokens of the targets, their ends included."""
    logits = model.target_logits(pairs.sources, pairs.source_mask, pairs.inputs)
    targets = pairs.targets.flatten()
    return cross_entropy(logits.flatten(0, 1), targets, ignore_index=NOT_PREDICTED, label_smoothing=label_smoothing)


def target_loss(
    model: EncoderDecoder, pairs: EncodedTextPairs, start: int, batches: Iterable[NDArray[np.int64]]
) -> float:
    """Return the mean cross-entropy in nats of every token of the targets, ends included, without dropout."""
    model.eval()
    total, count = 0.0, 0
    for rows in batches:
        with torch.inference_mode():
            batch = PairTensors.of(pairs, rows, start, model.device)
            tokens = int((batch.targets != NOT_PREDICTED).sum())
            total += pair_loss(model, batch).item() * tokens
            count += tokens
    return total / max(1, count)


class _AveragedWeights:
    """The mean of a model's weights at several times, summed in float64."""

    def __init__(self, model: EncoderDecoder) -> None:
        self._model, self._count = model, 0
        self._sums: dict[str, Tensor] = {}

    def add(self) -> None:
        for name, parameter in self._model.named_parameters():
            value = parameter.detach().double()
            self._sums[name] = self._sums[name] + value if name in self._sums else value
        self._count += 1

    def apply(self) -> None:
        """Set the weights to their mean; one checkpoint is left as it is."""
        if self._count < 2:
            return
        with torch.no_grad():
            for name, parameter in self._model.named_parameters():
                parameter.copy_(self._sums[name] / self._count)
