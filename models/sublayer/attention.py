"""Mixed attention: self-attention and a convolution branch side by side. ConvBERT, arXiv 2008.02496, fig. 3."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import dropout, scaled_dot_product_attention

from models.convolution import PaddingMask, build_branch
from models.precision import without_autocast
from search_space.sublayer.attention import SelfAttention, Visibility


class Sublayer(nn.Module):
    """Attention heads reduced by the bottleneck, the branch's heads beside them, one output map to the width."""

    def __init__(self, declaration: SelfAttention, dropout_rate: float) -> None:
        super().__init__()
        self.heads, self.dropout, self.visibility = declaration.heads, dropout_rate, declaration.visibility
        self.query = nn.Linear(declaration.width, declaration.keys)
        self.key = nn.Linear(declaration.width, declaration.keys)
        self.value = nn.Linear(declaration.width, declaration.values)
        self.branch = build_branch(declaration.convolution, declaration.shape)
        self.output = nn.Linear(declaration.context_width, declaration.width)

    def forward(
        self, x: Float[Tensor, "batch seq width"], padding_mask: PaddingMask
    ) -> Float[Tensor, "batch seq width"]:
        """Return the output of the sublayer; tokens never attend to padding."""
        query, value = self.query(x), self.value(x)
        context = self._attend(query, self.key(x), value, padding_mask)
        if self.branch is not None:
            branch_value = value if self.branch.value is None else self.branch.value(x)
            context = torch.cat([context, self.branch(x, query, branch_value, padding_mask)], -1)
        mixed: Tensor = self.output(context)
        return mixed

    def _attend(
        self,
        query: Float[Tensor, "batch seq inner"],
        key: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq values"],
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq values"]:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, key, value))
        visible = visible_keys(self.visibility, padding_mask, q.shape[2], q.device)
        rate = self.dropout if self.training else 0.0
        with without_autocast(q.device):
            if q.device.type == "cpu" and q.dtype == torch.bfloat16:
                attended = _by_matrix_products(q, k, v, visible, rate)
            else:
                attended = scaled_dot_product_attention(q, k, v, attn_mask=visible, dropout_p=rate)
        return attended.transpose(1, 2).flatten(-2)


def visible_keys(
    visibility: Visibility, padding_mask: PaddingMask, length: int, device: torch.device
) -> Bool[Tensor, "rows 1 queries seq"] | None:
    """Return where a query may read a key: rows and queries are 1 where all are equal. None: everywhere.

    A query that is padding may read itself, so that its softmax is never over nothing.
    """
    tokens = None if padding_mask is None else padding_mask[:, None, None, :]
    if visibility == "bidirectional":
        return tokens
    square = torch.ones(length, length, dtype=torch.bool, device=device)
    directed = (square.tril() if visibility == "left_to_right" else square.triu())[None, None]
    if tokens is None:
        return directed
    return directed & tokens | torch.eye(length, dtype=torch.bool, device=device)


def _by_matrix_products(
    q: Float[Tensor, "batch heads seq head_dim"],
    k: Float[Tensor, "batch heads seq head_dim"],
    v: Float[Tensor, "batch heads seq value_dim"],
    visible: Bool[Tensor, "rows 1 queries seq"] | None,
    dropout_rate: float,
) -> Float[Tensor, "batch heads seq value_dim"]:
    """Return unfused attention, which is faster than torch's fused kernel in bfloat16 on processors."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if visible is not None:
        scores = scores.masked_fill(~visible, -torch.inf)
    return dropout(scores.softmax(-1), dropout_rate) @ v
