"""Checkpoints: weights and optimiser state as safetensors, the place in training as JSON. No pickle is read anywhere.

A checkpoint is written under a temporary name, flushed, and renamed, so a folder holds the old one or the new one.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from search_space.declaration import JsonValue

WEIGHTS, OPTIMISER, PLACE = "weights.safetensors", "optimiser.safetensors", "place.json"


def save_checkpoint(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, place: Mapping[str, JsonValue]
) -> None:
    """Write a checkpoint into `folder`, which appears whole or not at all; `place` says where training stands."""
    temporary = folder.with_name(f"{folder.name}.writing")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    moments = {
        f"{names[parameter]}:{moment}": value
        for parameter, state in optimiser.state.items()
        for moment, value in state.items()
    }
    save_file({name: value.detach().contiguous() for name, value in model.named_parameters()}, temporary / WEIGHTS)
    save_file(moments, temporary / OPTIMISER)
    (temporary / PLACE).write_text(json.dumps(place))
    for path in temporary.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)


def load_checkpoint(folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, JsonValue]:
    """Read a checkpoint into the model and the optimiser and return where training stood."""
    load_weights(folder, model)
    moments = load_file(folder / OPTIMISER)
    for name, parameter in model.named_parameters():
        prefix = f"{name}:"
        mine = {key.removeprefix(prefix): value for key, value in moments.items() if key.startswith(prefix)}
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


def _same_shape(name: str, parameter: Tensor, value: Tensor) -> None:
    if parameter.shape != value.shape:
        raise ValueError(f"{name}: shape {tuple(value.shape)} in the checkpoint, {tuple(parameter.shape)} here")
