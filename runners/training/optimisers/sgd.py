"""Stochastic gradient descent with momentum and L2 regularisation. Sutskever et al. 2013, section 2.

The learning rate multiplies the sum of past gradients (torch's form), not each gradient before it is added: the two
differ where the rate changes.
"""

import torch
from torch import nn

from runners.training.optimisers.parameter_groups import parameter_groups
from search_space.optimiser import Sgd
from search_space.recipe import Recipe


def build(model: nn.Module, recipe: Recipe) -> torch.optim.SGD:
    """Return SGD with the option's momentum; its learning rate is 0 until `set_rate`."""
    assert isinstance(recipe.optimiser, Sgd)
    groups = parameter_groups(model.parameters(), recipe.weight_decay)
    return torch.optim.SGD(groups, lr=0.0, momentum=recipe.optimiser.momentum, fused=True)
