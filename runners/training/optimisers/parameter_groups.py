"""Parameter groups of an optimiser: weight decay for matrices alone, and learning rates by group."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

RATE_SHARE = "rate_share"
"""Key of a parameter group: its factor on the learning rate."""

ParameterGroup = dict[str, Any]


def parameter_groups(parameters: Iterable[nn.Parameter], weight_decay: float) -> list[ParameterGroup]:
    """Return two groups: matrices with weight decay, vectors (normalisations, biases) without."""
    every = list(parameters)
    return [
        {"params": [parameter for parameter in every if parameter.ndim > 1], "weight_decay": weight_decay},
        {"params": [parameter for parameter in every if parameter.ndim <= 1], "weight_decay": 0.0},
    ]


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every group, times the group's factor in a layer-wise optimiser."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group[RATE_SHARE] if RATE_SHARE in group else rate
