"""Checkpoints: weights and optimiser state as safetensors, training state as JSON. No pickle is read anywhere.

A checkpoint is an atomic directory: written under a temporary name, fsynced and renamed. `sha256.json` contains the
hash of every file, which is verified on load.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from search_space.architecture import Architecture
from steeplechase.foundation.atomic_files import replaced_directory, sha256_of, write_whole
from steeplechase.foundation.errors import CorruptionError, damage_refused
from steeplechase.foundation.schema import JsonValue

ARCHITECTURE = "architecture.json"
WEIGHTS, OPTIMISER, TRAINING_STATE = "weights.safetensors", "optimiser.safetensors", "place.json"
HASHES = "sha256.json"


def save_checkpoint(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, training_state: Mapping[str, JsonValue]
) -> None:
    """Write a checkpoint atomically; `training_state` is any JSON document, which `load_checkpoint` returns."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    moments = {
        f"{names[parameter]}:{moment}": value.cpu()
        for parameter, state in optimiser.state.items()
        for moment, value in state.items()
    }
    weights = {name: value.detach().cpu().contiguous() for name, value in _stored(model).items()}
    with replaced_directory(folder) as temporary:
        save_file(weights, temporary / WEIGHTS)
        save_file(moments, temporary / OPTIMISER)
        (temporary / TRAINING_STATE).write_text(json.dumps(training_state))
        (temporary / HASHES).write_text(json.dumps(_hashes(temporary)))


def save_weights(folder: Path, model: nn.Module) -> None:
    """Write a model's weights alone, atomically, with their hash."""
    weights = {name: value.detach().cpu().contiguous() for name, value in _stored(model).items()}
    with replaced_directory(folder) as temporary:
        save_file(weights, temporary / WEIGHTS)
        (temporary / HASHES).write_text(json.dumps({WEIGHTS: sha256_of(temporary / WEIGHTS)}))


def load_checkpoint(folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, JsonValue]:
    """Read a checkpoint into the model and the optimiser; return its training state.

    Raises CorruptionError if a file is missing or differs from its hash, ValueError if the weights are not the
    model's.
    """
    try:
        intact = json.loads((folder / HASHES).read_bytes()) == _hashes(folder)
    except (OSError, ValueError):
        intact = False
    if not intact:
        raise CorruptionError(
            f"{folder}: the checkpoint is damaged or incomplete. Move the folder away and run again"
        )
    load_weights(folder, model)
    moments = read_weights(folder / OPTIMISER)
    for name, parameter in model.named_parameters():
        prefix = f"{name}:"
        state = {
            key.removeprefix(prefix): value.to(parameter.device)
            for key, value in moments.items()
            if key.startswith(prefix)
        }
        if state:
            optimiser.state[parameter] = state
    with damage_refused(str(folder / TRAINING_STATE)):
        training_state: dict[str, JsonValue] = json.loads((folder / TRAINING_STATE).read_text())
    return training_state


def read_weights(file: Path) -> dict[str, Tensor]:
    """Return the tensors of a file of weights or moments. Raises CorruptionError if it is no such file."""
    with damage_refused(str(file), (SafetensorError,)):
        tensors: dict[str, Tensor] = load_file(file)
    return tensors


def load_weights(
    folder: Path, model: nn.Module, prefix: str = "", transferred: Callable[[str], bool] = lambda name: True
) -> None:
    """Read the weights whose names start with `prefix`, without the prefix, into the model.

    Those that are not `transferred` stay as they are. Raises ValueError if the names or shapes of the weights are not
    those of the model's parameters.
    """
    saved = read_weights(folder / WEIGHTS)
    weights = {name.removeprefix(prefix): value for name, value in saved.items() if name.startswith(prefix)}
    parameters = _stored(model)
    if weights.keys() != parameters.keys():
        raise ValueError(f"{folder}: the names of the weights are not those of the model's parameters")
    with torch.no_grad():
        for name, value in weights.items():
            if not transferred(name):
                continue
            _verify_shape(name, parameters[name], value)
            parameters[name].copy_(value)


def write_architecture(folder: Path, architecture: Architecture) -> None:
    """Write the architecture of a stage's checkpoint, where it is not the declared one: it is a result."""
    write_whole(folder / ARCHITECTURE, architecture.model_dump_json().encode())


def architecture_in(folder: Path, declared: Architecture) -> Architecture:
    """Return the architecture of the checkpoint in a stage's folder: the declared one, unless the stage found it."""
    path = folder / ARCHITECTURE
    return Architecture.model_validate_json(path.read_bytes()) if path.exists() else declared


def _stored(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and the persistent buffers by name, shared ones once."""
    persistent = model.state_dict()
    buffers = {name: value for name, value in model.named_buffers() if name in persistent}
    return {**dict(model.named_parameters()), **buffers}


def _hashes(folder: Path) -> dict[str, str]:
    return {name: sha256_of(folder / name) for name in (WEIGHTS, OPTIMISER, TRAINING_STATE)}


def _verify_shape(name: str, parameter: Tensor, value: Tensor) -> None:
    if parameter.shape != value.shape:
        raise ValueError(
            f"{name}: shape {tuple(value.shape)} in the checkpoint, {tuple(parameter.shape)} in the model"
        )
