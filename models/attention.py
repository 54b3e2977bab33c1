"""Mixed attention: self-attention and a convolution branch side by side. ConvBERT, arXiv 2008.02496, fig. 3."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from models.convolution import Real, build_branch
from search_space.architecture import Architecture


class MixedAttention(nn.Module):
    """Heads and width shrunk by the bottleneck, the branch's heads beside them, one map back to the width."""

    def __init__(self, architecture: Architecture, dropout: float) -> None:
        super().__init__()
        shape = architecture.attention_shape
        self.heads, self.dropout = shape.heads, dropout
        self.query = nn.Linear(shape.width, shape.inner_width)
        self.key = nn.Linear(shape.width, shape.inner_width)
        self.value = nn.Linear(shape.width, shape.inner_width)
        self.branch = build_branch(architecture.convolution, shape)
        context_width = shape.inner_width * (1 + architecture.convolution.branch_width_ratio)
        self.output = nn.Linear(context_width, shape.width)

    def forward(self, x: Float[Tensor, "batch seq width"], real: Real) -> Float[Tensor, "batch seq width"]:
        """Return the mixed tokens; a real token never attends to padding."""
        query, key, value, *own = self._project(x)
        context = self._attend(query, key, value, real)
        if self.branch is not None:
            context = torch.cat([context, self.branch(x, query, own[0] if own else value, real)], -1)
        mixed: Tensor = self.output(context)
        return mixed

    def _project(self, x: Float[Tensor, "batch seq width"]) -> tuple[Float[Tensor, "batch seq inner"], ...]:
        """Return queries, keys, values and the branch's own values, where it has them, by one matrix product."""
        maps = [self.query, self.key, self.value]
        if self.branch is not None and self.branch.value is not None:
            maps.append(self.branch.value)
        weight, bias = torch.cat([each.weight for each in maps]), torch.cat([each.bias for each in maps])
        return linear(x, weight, bias).chunk(len(maps), -1)

    def _attend(
        self,
        query: Float[Tensor, "batch seq inner"],
        key: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq inner"],
        real: Real,
    ) -> Float[Tensor, "batch seq inner"]:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, key, value))
        visible = None if real is None else real[:, None, None, :]
        dropout = self.dropout if self.training else 0.0
        attended = scaled_dot_product_attention(q, k, v, attn_mask=visible, dropout_p=dropout)
        return attended.transpose(1, 2).flatten(-2)
