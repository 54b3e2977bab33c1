"""AdamW as BERT and ELECTRA use it: no decay on normalisations and biases. arXiv 1711.05101."""

from collections.abc import Iterable

import torch
from torch import nn


def adamw(
    model: nn.Module, weight_decay: float, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-6
) -> torch.optim.AdamW:
    """Return the optimiser of a model, its rate still to be set."""
    named = list(model.named_parameters())
    decayed = [value for name, value in named if value.ndim > 1]
    kept = [value for name, value in named if value.ndim <= 1]
    groups: Iterable[dict[str, object]] = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": kept, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=epsilon, fused=True)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every group."""
    for group in optimiser.param_groups:
        group["lr"] = rate
