"""Optimisers of torch: one file per option, named as in `search_space.optimiser`.

Each file defines `build(model, recipe)`, an optimiser whose learning rate is 0 until `set_rate`.
"""

import torch
from torch import nn

from search_space.recipe import Recipe
from steeplechase.foundation.option_modules import module_of


def build_optimiser(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the recipe's optimiser of the model's parameters."""
    optimiser: torch.optim.Optimizer = module_of(recipe.optimiser).build(model, recipe)
    return optimiser
