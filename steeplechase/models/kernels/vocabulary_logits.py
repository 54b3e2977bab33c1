"""The product of the output layer: every vector with every row of the embedding table."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import linear

FEW_ROWS = 8
"""Up to as many vectors, as one step of decoding has, the table is the left factor: MKL's product of a few rows with
the transpose of a large matrix takes up to twice as long (measured, 8,192 to 30,522 tokens of width 256)."""


def vocabulary_logits(
    x: Float[Tensor, "... width"], table: Float[Tensor, "vocab width"], bias: Float[Tensor, " vocab"] | None = None
) -> Float[Tensor, "... vocab"]:
    """Return the products, with a bias per token where there is one, in the type of the vectors."""
    table, bias = table.to(x.dtype), None if bias is None else bias.to(x.dtype)
    few = x.dim() == 2 and len(x) <= FEW_ROWS and x.device.type == "cpu" and x.dtype == torch.float32
    if not few or torch.is_grad_enabled():
        return linear(x, table, bias)
    return (table @ x.t() if bias is None else torch.addmm(bias[:, None], table, x.t())).t()
