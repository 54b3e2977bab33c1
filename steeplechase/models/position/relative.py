"""Relative positions inside attention. Transformer-XL: Dai et al. 2019, arXiv 1901.02860, section 3.3 and appendix B.

The score of query i and key j is (q_i + u) k_j + (q_i + v) W R_(i - j), over the root of the width of a key. R has a
sine and a cosine per frequency in its two halves, as in the paper's code. With segment encodings (XLNet, arXiv
1906.08237, section 2.5) (q_i + b) s is added, with a vector s for tokens of one segment and another for those of two.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from search_space.position import RelativePositions
from search_space.sublayer.attention import SelfAttention
from search_space.visibility import looks_ahead
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.position import Scored, none
from steeplechase.models.position.sinusoidal import LONGEST_WAVELENGTH


class RelativeScores(nn.Module):
    """The map W of an attention sublayer and its biases u and v."""

    def __init__(self, declaration: SelfAttention, option: RelativePositions) -> None:
        super().__init__()
        self.width, self.clamp = declaration.width, option.clamp
        self.looks_ahead = looks_ahead(declaration.visibility)
        self.map = nn.Linear(declaration.width, declaration.keys, bias=False)
        shape = (declaration.heads, 1, declaration.key_width)
        self.content_bias = nn.Parameter(torch.empty(shape))
        self.position_bias = nn.Parameter(torch.empty(shape))
        self.segments = SegmentScores(declaration) if option.segment_encodings else None

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise the biases like a linear map's weights, as in the paper's code."""
        truncated_normal(self.content_bias, generator)
        truncated_normal(self.position_bias, generator)

    def forward(
        self,
        query: Float[Tensor, "batch heads queries head_dim"],
        key: Float[Tensor, "batch key_heads keys head_dim"],
        context: AttentionContext = NO_CONTEXT,
    ) -> Scored:
        """Return the queries with u, the keys, and the position terms of the scores, over the root of a key's width.

        The products are with as many vectors as there are distances; `shifted` brings them to their keys, `gathered`
        those of a query stream.
        """
        order, keys = context.order, key.shape[2]
        length = query.shape[2] if order is None else order.ranks.shape[1]
        last = -length if self.looks_ahead else -1
        distances = torch.arange(keys - 1, last, -1, device=query.device)
        mapped = self._mapped(distances, query.dtype)
        if context.backwards is not None:
            mapped = torch.stack([mapped, self._mapped(-distances, query.dtype)])[context.backwards.long()]
        products = (query + self.position_bias.to(query.dtype)) @ mapped
        scores = shifted(products[:, :, :length], keys)
        if order is not None:
            scores = torch.cat([scores, gathered(products[:, :, length:], order.positions, length, keys)], 2)
        if self.segments is not None and context.segments is not None:
            scores = scores + self.segments(query, keys, context.segments, context)
        return query + self.content_bias.to(query.dtype), key, scores * query.shape[-1] ** -0.5

    def _mapped(self, distances: Tensor, dtype: torch.dtype) -> Float[Tensor, "heads head_dim distances"]:
        mapped = self.map(self._sinusoids(distances).to(dtype)).unflatten(-1, (len(self.content_bias), -1))
        by_head: Tensor = mapped.permute(1, 2, 0)
        return by_head

    def _sinusoids(self, distances: Tensor) -> Float[Tensor, "distances width"]:
        if self.clamp is not None:
            distances = distances.clamp(-self.clamp, self.clamp)
        pairs = torch.arange(0, self.width, 2, device=distances.device, dtype=torch.float64)
        rates = torch.exp(pairs * (-math.log(LONGEST_WAVELENGTH) / self.width))
        angles = distances[:, None].double() * rates
        return torch.cat([angles.sin(), angles.cos()], -1)[:, : self.width]


class SegmentScores(nn.Module):
    """The bias b of an attention sublayer, and its vectors for equal and for different segments."""

    def __init__(self, declaration: SelfAttention) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(declaration.heads, 1, declaration.key_width))
        self.vectors = nn.Parameter(torch.empty(2, declaration.heads, declaration.key_width))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise like a linear map's weights, as in the paper's code."""
        truncated_normal(self.bias, generator)
        truncated_normal(self.vectors, generator)

    def forward(
        self,
        query: Float[Tensor, "batch heads queries head_dim"],
        keys: int,
        segments: Int[Tensor, "batch seq"],
        context: AttentionContext,
    ) -> Float[Tensor, "batch heads queries keys"]:
        """Return the segment terms of the scores; keys before those of the segments are a memory, of segment 0."""
        asking = segments
        if context.order is not None:
            asking = torch.cat([segments, segments.gather(1, context.order.positions)], 1)
        read = pad(segments, (keys - segments.shape[1], 0))
        terms = (query + self.bias.to(query.dtype)) @ self.vectors.to(query.dtype).permute(1, 2, 0)
        different = (asking[:, :, None] != read[:, None, :])[:, None]
        return torch.where(different, terms[..., 1:], terms[..., :1])


def gathered(
    products: Float[Tensor, "batch heads queries distances"],
    positions: Int[Tensor, "batch queries"],
    length: int,
    keys: int,
) -> Float[Tensor, "batch heads queries keys"]:
    """Return the product of each key and each query at its position in a segment, which is the last of the keys."""
    places = length - 1 - positions[:, :, None] + torch.arange(keys, device=products.device)
    return products.gather(-1, places[:, None].expand(-1, products.shape[1], -1, -1))


def shifted(
    products: Float[Tensor, "batch heads queries distances"], keys: int
) -> Float[Tensor, "batch heads queries keys"]:
    """Return the product of each query and key from those by distance, which fall from `keys` - 1, in linear time.

    Row i is moved to the left by the `queries` - 1 - i positions that follow it: a view of the flat products. Without
    distances below 0, what stands at keys behind the query is of no pair, and must be hidden.
    """
    queries = products.shape[2]
    flat = pad(products, (0, 1)).flatten(-2)
    stride = products.shape[3]
    rows: Tensor = flat[..., queries - 1 : queries - 1 + queries * stride].unflatten(-1, (queries, stride))
    return rows[..., :keys]


def build_scores(declaration: SelfAttention) -> nn.Module:
    """Return the terms of an attention sublayer's scores."""
    assert isinstance(declaration.position, RelativePositions)
    return RelativeScores(declaration, declaration.position)


build = none.build
