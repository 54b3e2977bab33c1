"""Pretraining objectives as torch modules: one file per objective, named as in `search_space.objective`.

Each file defines `Model(candidate, generator)`, a PretrainingModel.
"""

from pathlib import Path
from typing import Any

import torch

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.foundation.option_modules import module_named
from steeplechase.models.devices import open_device
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.lexicon.supersenses import read_token_senses
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel


def model_class(kind: str) -> type[PretrainingModel[Any]]:
    """Return the module of a kind of objective, or of an evaluation, whose name begins with a kind and a dot."""
    found: type[PretrainingModel[Any]] = module_named(__name__, kind.partition(".")[0]).Model
    return found


def build_model(
    candidate: Candidate, generator: Architecture | None, seed: int, tokens: Path | None = None
) -> PretrainingModel[Any]:
    """Return a freshly initialised model of the candidate's objective, on the recipe's device.

    The initial values are the same on every device. `tokens` is the folder of the tokens stage, where an encoder with
    supersense embeddings reads the supersenses of the vocabulary; without it, no token has any.
    """
    model = model_class(candidate.objective.kind)(candidate, generator)
    initialise(model, seed)
    if tokens is not None and candidate.architecture.supersenses:
        supersenses = model.encoder.embeddings.supersenses
        assert supersenses is not None
        supersenses.allow(torch.from_numpy(read_token_senses(tokens)))
    return model.to(open_device(candidate.recipe.device))
