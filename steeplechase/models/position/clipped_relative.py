"""Relative position representations in the keys of attention. Shaw et al. 2018, arXiv 1803.02155, section 3.2, eq. 4.

The score of query i and key j is q_i (k_j + a_(i - j)), over the root of the width of a key; distances are clipped.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from search_space.position import ClippedRelativePositions
from search_space.sublayer.attention import SelfAttention
from search_space.visibility import looks_ahead
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.position import Scored, none
from steeplechase.models.position.relative import gathered, shifted


class ClippedScores(nn.Module):
    """The vectors a of an attention sublayer."""

    def __init__(self, declaration: SelfAttention, option: ClippedRelativePositions) -> None:
        super().__init__()
        self.clip = option.clip
        self.looks_ahead = looks_ahead(declaration.visibility)
        self.vectors = nn.Parameter(torch.empty(option.vectors(self.looks_ahead), declaration.key_width))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise like an embedding."""
        truncated_normal(self.vectors, generator)

    def forward(
        self,
        query: Float[Tensor, "batch heads queries head_dim"],
        key: Float[Tensor, "batch key_heads keys head_dim"],
        context: AttentionContext = NO_CONTEXT,
    ) -> Scored:
        """Return the queries and keys, and the position terms of the scores, over the root of the width of a key."""
        order, keys = context.order, key.shape[2]
        length = query.shape[2] if order is None else order.ranks.shape[1]
        distances = torch.arange(keys - 1, -length if self.looks_ahead else -1, -1, device=query.device)
        vectors = self._of(distances, query.dtype)
        if context.backwards is not None:
            vectors = torch.stack([vectors, self._of(-distances, query.dtype)])[context.backwards.long()][:, None]
        products = query @ vectors.transpose(-1, -2)
        scores = shifted(products[:, :, :length], keys)
        if order is not None:
            scores = torch.cat([scores, gathered(products[:, :, length:], order.positions, length, keys)], 2)
        return query, key, scores * query.shape[-1] ** -0.5

    def _of(self, distances: Tensor, dtype: torch.dtype) -> Float[Tensor, "distances head_dim"]:
        first = self.clip if self.looks_ahead else 0
        return self.vectors[distances.clamp(-first, self.clip) + first].to(dtype)


def build_scores(declaration: SelfAttention) -> nn.Module:
    """Return the terms of an attention sublayer's scores."""
    assert isinstance(declaration.position, ClippedRelativePositions)
    return ClippedScores(declaration, declaration.position)


build = none.build
