"""The weighted values of attention: fused where torch can, else by matrix products. Vaswani et al. 2017, eq. 1.

A soft cap of the scores (Gemma 2, arXiv 2408.00118, section 2) is no part of the fused kernel, on any device.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import dropout, scaled_dot_product_attention

from steeplechase.models.precision import to_float32


def fused(
    q: Float[Tensor, "batch heads seq head_dim"],
    k: Float[Tensor, "batch key_heads read head_dim"],
    v: Float[Tensor, "batch key_heads read value_dim"],
    mask: Tensor | None,
    dropout_rate: float = 0.0,
    *,
    causal: bool = False,
) -> Float[Tensor, "batch heads seq value_dim"]:
    """Return torch's fused attention. Its kernel for masks on GPUs knows no shared keys, which are repeated there."""
    shared = k.shape[1] != q.shape[1]
    if shared and q.is_cuda and mask is not None:
        k, v, shared = for_each_query_head(k, q), for_each_query_head(v, q), False
    return scaled_dot_product_attention(q, k, v, mask, dropout_rate, is_causal=causal, enable_gqa=shared)


def by_matrix_products(
    q: Float[Tensor, "batch heads seq head_dim"],
    k: Float[Tensor, "batch key_heads read head_dim"],
    v: Float[Tensor, "batch key_heads read value_dim"],
    mask: Tensor | None,
    dropout_rate: float = 0.0,
    *,
    score_cap: float | None = None,
) -> Float[Tensor, "batch heads seq value_dim"]:
    """Return unfused attention, which stores its weights; in bfloat16 on processors it is the faster one."""
    weights = weights_of(q, k, mask, score_cap).to(v.dtype)
    return dropout(weights, dropout_rate) @ for_each_query_head(v, q)


def weights_of(
    q: Float[Tensor, "batch heads seq head_dim"],
    k: Float[Tensor, "batch key_heads read head_dim"],
    mask: Tensor | None,
    score_cap: float | None = None,
) -> Float[Tensor, "batch heads seq read"]:
    """Return the weights of each head, queries by keys; 0 for hidden keys. With a cap in float32 or wider.

    `mask` is True where a key is visible, or what is added to the scores, minus infinity where it is hidden. The cap
    is of the sum, and hidden keys stay hidden.
    """
    scores = (q * q.shape[-1] ** -0.5) @ for_each_query_head(k, q).transpose(-1, -2)
    if mask is not None and mask.dtype != torch.bool:
        scores = scores + mask
    if score_cap is not None:
        scores = score_cap * (to_float32(scores) / score_cap).tanh()
        mask = mask if mask is None or mask.dtype == torch.bool else mask != -torch.inf
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights: Tensor = scores.softmax(-1)
    return weights


def for_each_query_head(
    x: Float[Tensor, "batch key_heads read channels"], q: Float[Tensor, "batch heads seq head_dim"]
) -> Float[Tensor, "batch heads read channels"]:
    """Return keys or values once for each head of the queries that reads them."""
    times = q.shape[1] // x.shape[1]
    return x if times == 1 else x.repeat_interleave(times, 1)
