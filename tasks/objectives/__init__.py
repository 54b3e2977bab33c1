"""Pretraining objectives as torch modules: one file per objective, named as in `search_space.objective`.

Each file defines `Model(candidate, generator)`, a PretrainingModel.
"""

from importlib import import_module

from models.devices import open_device
from models.initialisation import initialise
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from tasks.objectives.pretraining_model import PretrainingModel


def build_model(candidate: Candidate, generator: Architecture | None, seed: int) -> PretrainingModel:
    """Return a freshly initialised model of the candidate's objective, on the recipe's device.

    The initial values are the same on every device.
    """
    module = import_module(f"tasks.objectives.{candidate.objective.kind}")
    model: PretrainingModel = module.Model(candidate, generator)
    initialise(model, seed)
    return model.to(open_device(candidate.recipe.device))
