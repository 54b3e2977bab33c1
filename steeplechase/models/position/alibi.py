"""Attention with linear biases, ALiBi. Press et al. 2021, arXiv 2108.12409, section 3."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from search_space.position import LinearBiases
from search_space.sublayer.attention import SelfAttention
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.devices import on_device
from steeplechase.models.position import Scored, none


class BiasedScores(nn.Module):
    """Minus the distance of query and key, times the slope of the head; not scaled with the scores."""

    def __init__(self, declaration: SelfAttention) -> None:
        super().__init__()
        self.slopes = LinearBiases.slopes(declaration.heads)

    def forward(
        self,
        query: Float[Tensor, "batch heads queries head_dim"],
        key: Float[Tensor, "batch key_heads keys head_dim"],
        context: AttentionContext = NO_CONTEXT,
    ) -> Scored:
        """Return queries and keys as they are, and the biases."""
        order, keys = context.order, key.shape[2]
        length = query.shape[2] if order is None else order.ranks.shape[1]
        places = torch.arange(keys, device=query.device)
        asking = places[None, keys - length :]
        if order is not None:
            asking = torch.cat([asking.expand(len(order.positions), -1), keys - length + order.positions], 1)
        slopes = on_device(np.asarray(self.slopes), query.device).to(query.dtype)
        distances = (asking[:, None, :, None] - places).abs().to(query.dtype)
        return query, key, distances * -slopes[:, None, None]


def build_scores(declaration: SelfAttention) -> nn.Module:
    """Return the biases of an attention sublayer's scores."""
    return BiasedScores(declaration)


build = none.build
