"""Reads pretrained weights: the model or the encoder of a finished stage, and an initial checkpoint."""

from pathlib import Path
from typing import Any

from torch import nn

from runners.training.checkpoint import architecture_in, load_weights
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from steeplechase.foundation.devices import Device
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.paths import CHECKPOINT
from steeplechase.models.devices import open_device
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.data_folder import resolved
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel


def read_encoder(folder: Path, declared: Architecture, device: Device) -> Encoder:
    """Return the encoder in a stage's folder, for evaluation on a device."""
    encoder = Encoder(architecture_in(folder, declared), 0.0)
    load_weights(folder / CHECKPOINT, encoder, "encoder.")
    return encoder.to(open_device(device)).eval()


def read_model(folder: Path, candidate: Candidate, generator: Architecture | None) -> PretrainingModel[Any]:
    """Return the model in a stage's folder with its heads, for evaluation."""
    architecture = architecture_in(folder, candidate.architecture)
    candidate = candidate.model_copy(update={"architecture": architecture})
    model = build_model(candidate, generator, 0)  # all weights are replaced
    load_weights(folder / CHECKPOINT, model)
    return model.eval()


def load_initial_weights(encoder: nn.Module, checkpoint: str | None, sha256: str | None) -> None:
    """Load an initial checkpoint into the encoder, if there is one; heads keep their random initialisation.

    Raises CorruptionError if its weights are not those of the stage's key.
    """
    if checkpoint is None:
        return
    initial = read_initial_checkpoint(resolved(checkpoint))
    if initial.weights_hash != sha256:
        raise CorruptionError(f"{initial.folder}: its weights changed after the run began; run again")
    initial.verify(WEIGHTS)
    load_weights(initial.folder, encoder)
