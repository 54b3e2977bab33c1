"""The feed-forward network of a block, grouped where asked. ConvBERT, arXiv 2008.02496, section 3.2, eq. 8."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu

from models.initialisation import truncated_normal
from search_space.architecture import Architecture


class GroupedLinear(nn.Module):
    """A linear map whose contiguous groups of channels never meet: a block-diagonal matrix with a full bias."""

    def __init__(self, inputs: int, outputs: int, groups: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(groups, inputs // groups, outputs // groups))
        self.bias = nn.Parameter(torch.empty(outputs))

    def start(self, generator: torch.Generator) -> None:
        """Start like any linear map."""
        truncated_normal(self.weight, generator)
        nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "batch seq inputs"]) -> Float[Tensor, "batch seq outputs"]:
        """Return the mapped channels."""
        groups = x.flatten(0, 1).unflatten(-1, (len(self.weight), -1)).transpose(0, 1)
        mapped = torch.bmm(groups, self.weight).transpose(0, 1).flatten(-2)
        out: Tensor = (mapped + self.bias).unflatten(0, x.shape[:2])
        return out


class FeedForward(nn.Module):
    """Up, GELU, down; both maps have the same number of groups."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        width, inner, groups = (
            architecture.width,
            architecture.feed_forward_width,
            architecture.feed_forward_groups,
        )
        self.up = linear(width, inner, groups)
        self.down = linear(inner, width, groups)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq width"]:
        """Return the transformed tokens, each from itself alone."""
        mapped: Tensor = self.down(gelu(self.up(x)))
        return mapped


def linear(inputs: int, outputs: int, groups: int) -> nn.Module:
    """Return a dense map for one group, a grouped map otherwise."""
    return nn.Linear(inputs, outputs) if groups == 1 else GroupedLinear(inputs, outputs, groups)
