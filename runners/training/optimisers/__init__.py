"""Optimisers of torch: one file per option, named as in `search_space.optimiser`.

Each file defines `build(model, recipe)`, an optimiser whose learning rate is 0 until `set_rate`.
"""

from importlib import import_module

import torch
from torch import nn

from search_space.recipe import Recipe


def build_optimiser(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the recipe's optimiser of the model's parameters."""
    module = import_module(f"runners.training.optimisers.{recipe.optimiser.kind}")
    optimiser: torch.optim.Optimizer = module.build(model, recipe)
    return optimiser
