"""Token shift as a torch module."""

import torch
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from search_space.sublayer.token_shift import TokenShift
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext


class Sublayer(nn.Module):
    """From [batch seq width] to [batch seq width]."""

    def __init__(self, declaration: TokenShift, dropout_rate: float) -> None:
        super().__init__()
        self.side = declaration.side
        self.inputs = nn.Linear((1 + declaration.neighbours) * declaration.width, 2 * declaration.inner_width)
        self.output = nn.Linear(declaration.inner_width, declaration.width)

    def forward(
        self, x: Tensor, padding_mask: Tensor | None = None, context: AttentionContext = NO_CONTEXT
    ) -> Tensor:
        """Return the mixed tokens; padding, where the mask is False, is as what is beyond the ends: zeros."""
        real = x if padding_mask is None else x * padding_mask[..., None]
        before, behind = pad(real[:, :-1], (0, 0, 1, 0)), pad(real[:, 1:], (0, 0, 0, 1))
        neighbours = {"before": (before,), "behind": (behind,), "both": (before, behind)}[self.side]
        mixed: Tensor = self.output(glu(self.inputs(torch.cat([x, *neighbours], -1)), -1))
        return mixed
