"""Training of a small model on planted batches, without a schedule or a recipe."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.training.optimisers.adamw import adamw
from runners.training.optimisers.parameter_groups import set_rate
from search_space.architecture import Architecture
from search_space.objective import Objective
from search_space.packing.sequences import Sequences
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel
from tests.factories.small_experiments import WORDS, built, candidate, convolutions
from tests.factories.updates import updates

PlantedBatches = Callable[[np.random.Generator], Sequences]


def trained(
    objective: Objective, width: int, planted: PlantedBatches, seed: int, steps: int
) -> PretrainingModel[Any]:
    """Train two blocks of attention alone; weights begin four times as large, because the model is narrow."""
    sizes = Architecture(
        depth=2,
        width=width,
        embedding_width=width,
        heads=4,
        feed_forward_width=2 * width,
        vocabulary_size=40,
        positions=16,
    )
    model = built(candidate(convolutions()[0], objective).model_copy(update={"architecture": sizes}), seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)
    random = np.random.default_rng(seed)
    optimiser = adamw(model, 0.0)
    set_rate(optimiser, 2e-3)
    for _ in updates(steps):
        loss = model.loss(model.prepare(planted(random), WORDS, random), random)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model
