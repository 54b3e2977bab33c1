"""AdamW as BERT and ELECTRA use it: no weight decay on normalisation parameters and biases. arXiv 1711.05101."""

import re

import torch
from torch import nn

from runners.training.optimisers.parameter_groups import RATE_SHARE, parameter_groups
from search_space.recipe import Recipe

BETAS, EPSILON = (0.9, 0.999), 1e-6  # ELECTRA's and ConvBERT's model/optimization.py


def build(model: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    """Return AdamW with the recipe's moments; its learning rate is 0 until `set_rate`."""
    return adamw(model, recipe.weight_decay, (recipe.adam_beta1, recipe.adam_beta2), recipe.adam_epsilon)


def adamw(
    model: nn.Module, weight_decay: float, betas: tuple[float, float] = BETAS, epsilon: float = EPSILON
) -> torch.optim.AdamW:
    """Return the optimiser of a model; its learning rate is 0 until `set_rate`."""
    groups = parameter_groups(model.parameters(), weight_decay)
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=epsilon, fused=True)


def layered_adamw(model: nn.Module, depth: int, weight_decay: float, layer_rate_decay: float) -> torch.optim.AdamW:
    """Return the optimiser with layer-wise learning rate decay for an encoder of `depth` blocks with a head.

    As in the code of ELECTRA and ConvBERT (model/optimization.py): with decay d and n blocks, the factor of the head
    is 1, of block i (1 to n) d**(n + 2 - i), and of the embeddings and their projection d**(n + 2). The last block
    has d**2, because that code counts two layers between it and the head.
    """
    by_exponent: dict[int, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        by_exponent.setdefault(depth + 2 - _layer_number(name, depth), []).append(parameter)
    groups = [
        {**group, RATE_SHARE: layer_rate_decay**exponent}
        for exponent in sorted(by_exponent)
        for group in parameter_groups(by_exponent[exponent], weight_decay)
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=BETAS, eps=EPSILON, fused=True)


def _layer_number(name: str, depth: int) -> int:
    """Return 0 for the embeddings, 1 to `depth` for the blocks, and `depth` + 2 for the head."""
    block = re.match(r"encoder\.blocks\.(\d+)\.", name)
    if block is not None:
        return int(block.group(1)) + 1
    return 0 if name.startswith(("encoder.embeddings.", "encoder.projection.")) else depth + 2
