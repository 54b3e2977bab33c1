"""Trains a writer of texts on sources and targets, and averages its checkpoints. arXiv 1706.03762, section 5."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from runners.training.optimisers.parameter_groups import set_rate
from runners.training.text_writer import TextWriter
from steeplechase.foundation.devices import Precision
from steeplechase.models.precision import autocast_to
from steeplechase.tasks.labelled.forms import EncodedTextPairs

GRADIENT_NORM_LIMIT = 1.0
Order = Callable[[int], Sequence[NDArray[np.int64]]]
"""From an epoch to the pairs of every batch."""


@dataclass(frozen=True)
class FirstStage:
    """The first updates of a training, in which most parameters are frozen. BART, arXiv 1910.13461, section 3.4."""

    share: float
    """Share of all updates, from 0 to 1."""
    parameters: Collection[nn.Parameter]
    """What it updates."""
    later_peak_rate: float
    """The largest learning rate of the updates after it."""

    def updates(self, updates: int) -> int:
        """Return its number of updates, of all."""
        return round(self.share * updates)


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
    first_stage: FirstStage | None = None
    """None: all parameters are trained from the first update on."""

    def rate(self, update: int, updates: int) -> float:
        """Return the learning rate of the update after `update` of `updates`; it is never 0.

        The updates after a first stage have a schedule of their own.
        """
        first = 0 if self.first_stage is None else self.first_stage.updates(updates)
        if self.first_stage is None or update < first:
            return self._scheduled(self.peak_rate, update, first or updates)
        return self._scheduled(self.first_stage.later_peak_rate, update - first, updates - first)

    def begin_stage(self, model: nn.Module, update: int, updates: int) -> None:
        """Freeze and unfreeze parameters where a stage begins with this update of `updates`."""
        if self.first_stage is None:
            return
        if update == self.first_stage.updates(updates):
            model.requires_grad_(True)
        elif update == 0:
            model.requires_grad_(False)
            for parameter in self.first_stage.parameters:
                parameter.requires_grad_(True)

    def _scheduled(self, peak_rate: float, update: int, updates: int) -> float:
        warmup = max(1.0, updates * self.warmup_share)
        rising = (update + 1) / warmup
        if self.schedule == "inverse_square_root":
            return peak_rate * min(rising, math.sqrt(warmup / (update + 1)))
        return peak_rate * min(rising, (updates - update) / max(1.0, updates - warmup), 1.0)


class NotFiniteUpdate(Exception):
    """The loss or a gradient of an update was not finite."""

    def __init__(self, update: int, loss: float) -> None:
        self.update, self.loss = update, loss
        super().__init__(f"loss {loss} at update {update}")


def train_pairs(
    writer: TextWriter,
    pairs: EncodedTextPairs,
    settings: TrainingSettings,
    optimiser: torch.optim.Optimizer,
    order: Order,
    before: Callable[[int], np.random.Generator],
    after: Callable[[float, float], None],
) -> None:
    """Train the writer, and give it the mean of its weights after each of the last epochs.

    `before` is called with the number of each update, to seed its dropout, and returns the random stream of its
    masks; `after` with the share of the updates that are done and the loss. Raises NotFiniteUpdate.
    """
    model = writer.module
    batches = [(epoch, rows) for epoch in range(settings.epochs) for rows in order(epoch)]
    averaged = _AveragedWeights(model)
    for number, (epoch, rows) in enumerate(batches):
        model.train()
        settings.begin_stage(model, number, len(batches))
        random = before(number)
        set_rate(optimiser, settings.rate(number, len(batches)))
        with autocast_to(settings.precision, writer.device):
            loss = writer.training_loss(pairs, rows, settings.label_smoothing, random)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        gradient_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), GRADIENT_NORM_LIMIT)
        value, norm = torch.stack([loss.detach(), gradient_norm]).tolist()  # the host waits for a GPU here alone
        if not (math.isfinite(value) and math.isfinite(norm)):
            raise NotFiniteUpdate(number, value)
        optimiser.step()
        after((number + 1) / len(batches), value)
        ends_epoch = number + 1 == len(batches) or batches[number + 1][0] != epoch
        if ends_epoch and epoch >= settings.epochs - settings.averaged_checkpoints:
            averaged.add()
    averaged.apply()


@torch.inference_mode()
def mean_target_loss(writer: TextWriter, pairs: EncodedTextPairs, batches: Iterable[NDArray[np.int64]]) -> float:
    """Return the mean cross-entropy in nats of every token of the targets, ends included, without dropout."""
    writer.module.eval()
    total, count = 0.0, 0
    for rows in batches:
        losses = writer.target_losses(pairs, rows)
        total, count = total + losses.double().sum().item(), count + len(losses)
    return total / max(1, count)


class _AveragedWeights:
    """The mean of a model's weights at several times, summed in float64."""

    def __init__(self, model: nn.Module) -> None:
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
