"""Checkpoints: weights and optimiser state as safetensors, the place in training as JSON. No pickle is read anywhere.

A checkpoint is written under a temporary name, flushed, and renamed, so a folder is there whole or not at all; the
sha256 of every file lies beside them and is verified on load.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from foundation.atomic_files import flush, sha256_of
from foundation.errors import CorruptionError
from foundation.schema import JsonValue

WEIGHTS, OPTIMISER, PLACE = "weights.safetensors", "optimiser.safetensors", "place.json"
HASHES = "sha256.json"


def save_checkpoint(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, place: Mapping[str, JsonValue]
) -> None:
    """Write a checkpoint into `folder`, which appears whole or not at all; `place` says where training stands."""
    temporary = folder.with_name(f"{folder.name}.writing")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    moments = {
        f"{names[parameter]}:{moment}": value.cpu()
        for parameter, state in optimiser.state.items()
        for moment, value in state.items()
    }
    save_file(
        {name: value.detach().cpu().contiguous() for name, value in model.named_parameters()}, temporary / WEIGHTS
    )
    save_file(moments, temporary / OPTIMISER)
    (temporary / PLACE).write_text(json.dumps(place))
    (temporary / HASHES).write_text(json.dumps(_hashes(temporary)))
    for path in [temporary, *temporary.iterdir()]:
        flush(path)
    discard(folder)
    temporary.rename(folder)


def discard(folder: Path) -> None:
    """Remove a checkpoint; one that is killed on the way leaves no part of it under its name."""
    gone = folder.with_name(f"{folder.name}.gone")
    shutil.rmtree(gone, ignore_errors=True)
    if folder.is_dir():
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def load_checkpoint(folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, JsonValue]:
    """Read a checkpoint into the model and the optimiser and return where training stood. Raises CorruptionError."""
    try:
        sound = json.loads((folder / HASHES).read_bytes()) == _hashes(folder)
    except (OSError, ValueError):
        sound = False
    if not sound:
        raise CorruptionError(f"{folder}: the checkpoint is not what was written. Move the folder away and run again")
    load_weights(folder, model)
    moments = load_file(folder / OPTIMISER)
    for name, parameter in model.named_parameters():
        prefix = f"{name}:"
        mine = {
            key.removeprefix(prefix): value.to(parameter.device)
            for key, value in moments.items()
            if key.startswith(prefix)
        }
        if mine:
            optimiser.state[parameter] = mine
    place: dict[str, JsonValue] = json.loads((folder / PLACE).read_text())
    return place


def load_weights(folder: Path, model: nn.Module, prefix: str = "") -> None:
    """Read the weights whose names start with `prefix` into the model, which must have all of them and no others."""
    saved = load_file(folder / WEIGHTS)
    chosen = {name.removeprefix(prefix): value for name, value in saved.items() if name.startswith(prefix)}
    own = dict(model.named_parameters())
    if chosen.keys() != own.keys():
        raise ValueError(f"{folder}: the checkpoint's weights are not those of this model")
    with torch.no_grad():
        for name, value in chosen.items():
            _same_shape(name, own[name], value)
            own[name].copy_(value)


def _hashes(folder: Path) -> dict[str, str]:
    return {name: sha256_of(folder / name) for name in (WEIGHTS, OPTIMISER, PLACE)}


def _same_shape(name: str, parameter: Tensor, value: Tensor) -> None:
    if parameter.shape != value.shape:
        raise ValueError(f"{name}: shape {tuple(value.shape)} in the checkpoint, {tuple(parameter.shape)} here")
