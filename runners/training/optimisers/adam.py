"""Adam with L2 regularisation in the gradient. Kingma and Ba 2015, arXiv 1412.6980."""

import torch
from torch import nn

from runners.training.optimisers.parameter_groups import parameter_groups
from search_space.recipe import Recipe


def build(model: nn.Module, recipe: Recipe) -> torch.optim.Adam:
    """Return Adam with the recipe's moments; its learning rate is 0 until `set_rate`."""
    groups = parameter_groups(model.parameters(), recipe.weight_decay)
    betas = (recipe.adam_beta1, recipe.adam_beta2)
    return torch.optim.Adam(groups, lr=0.0, betas=betas, eps=recipe.adam_epsilon, fused=True)
