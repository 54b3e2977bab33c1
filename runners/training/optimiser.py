"""AdamW as BERT and ELECTRA use it: no decay on normalisations and biases. arXiv 1711.05101."""

import re

import torch
from torch import nn

BETAS, EPSILON = (0.9, 0.999), 1e-6  # ELECTRA's and ConvBERT's model/optimization.py
RATE_SHARE = "rate_share"


def adamw(
    model: nn.Module, weight_decay: float, betas: tuple[float, float] = BETAS, epsilon: float = EPSILON
) -> torch.optim.AdamW:
    """Return the optimiser of a model; `set_rate` sets its rate."""
    groups = _decayed_and_kept(list(model.parameters()), weight_decay)
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=epsilon, fused=True)


def _decayed_and_kept(values: list[nn.Parameter], weight_decay: float) -> list[dict[str, object]]:
    return [
        {"params": [value for value in values if value.ndim > 1], "weight_decay": weight_decay},
        {"params": [value for value in values if value.ndim <= 1], "weight_decay": 0.0},
    ]


def layered_adamw(model: nn.Module, depth: int, weight_decay: float, layer_rate_decay: float) -> torch.optim.AdamW:
    """Return the optimiser with layer-wise learning rate decay for an encoder of `depth` blocks with a head.

    As released by ELECTRA and ConvBERT (model/optimization.py): with decay d and n blocks, the head has the
    full rate, block i of 1 to n at d**(n + 2 - i), the embeddings and their projection at d**(n + 2): two steps
    lie between the head and the last block.
    """
    by_exponent: dict[int, list[tuple[str, nn.Parameter]]] = {}
    for name, value in model.named_parameters():
        by_exponent.setdefault(depth + 2 - _layer(name, depth), []).append((name, value))
    groups = [
        {**group, RATE_SHARE: layer_rate_decay**exponent}
        for exponent, named in sorted(by_exponent.items())
        for group in _decayed_and_kept([value for _, value in named], weight_decay)
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=BETAS, eps=EPSILON, fused=True)


def _layer(name: str, depth: int) -> int:
    """Return 0 for embeddings, the block's number from 1, and two above the last block for the head."""
    block = re.match(r"encoder\.blocks\.(\d+)\.", name)
    if block is not None:
        return int(block.group(1)) + 1
    return 0 if name.startswith(("encoder.embeddings.", "encoder.projection.")) else depth + 2


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every group, times the group's share in a layer-wise optimiser."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group[RATE_SHARE] if RATE_SHARE in group else rate
