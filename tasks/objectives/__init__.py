"""Pretraining objectives as torch modules: one file per objective, named as in `search_space.objective`.

Each file defines `Model(candidate, generator)`, a PretrainingModel.
"""

from importlib import import_module
from typing import Any

from models.devices import open_device
from models.initialisation import initialise
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from tasks.objectives.pretraining_model import PretrainingModel


def model_class(kind: str) -> type[PretrainingModel[Any]]:
    """Return the module of a kind of objective."""
    found: type[PretrainingModel[Any]] = import_module(f"tasks.objectives.{kind}").Model
    return found


def build_model(candidate: Candidate, generator: Architecture | None, seed: int) -> PretrainingModel[Any]:
    """Return a freshly initialised model of the candidate's objective, on the recipe's device.

    The initial values are the same on every device.
    """
    model = model_class(candidate.objective.kind)(candidate, generator)
    initialise(model, seed)
    return model.to(open_device(candidate.recipe.device))
