"""Rotary positions. Su et al. 2021, arXiv 2104.09864, section 3.2; pairs of channels as in GPT-NeoX."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from search_space.position import RotaryPositions
from search_space.sublayer.attention import SelfAttention
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.position import Scored, none


class RotaryScores(nn.Module):
    """Turns queries and keys by their positions, so that their product depends on the distance alone."""

    def __init__(self, declaration: SelfAttention, option: RotaryPositions) -> None:
        super().__init__()
        self.base, self.turned = option.base_of(declaration.local), option.turned(declaration.key_width)

    def forward(
        self,
        query: Float[Tensor, "batch heads queries head_dim"],
        key: Float[Tensor, "batch key_heads keys head_dim"],
        context: AttentionContext = NO_CONTEXT,
    ) -> Scored:
        """Return the turned queries and keys, and nothing that is added to the scores."""
        order, keys = context.order, key.shape[2]
        length = query.shape[2] if order is None else order.ranks.shape[1]
        turns = self._turns(keys, query)
        asking = turns[..., keys - length :, :]
        if order is not None:
            stream = asking[:, 0, 0][:, order.positions][:, :, None]
            asking = torch.cat([asking.expand(-1, stream.shape[1], -1, -1, -1), stream], 3)
        if context.backwards is not None:
            signs = 1 - 2 * context.backwards.to(turns.dtype)[:, None, None, None]
            signs = torch.stack([signs.abs(), signs])  # of the sines alone
            asking, turns = asking * signs, turns * signs
        return self._turned(query, asking), self._turned(key, turns), None

    def _turns(self, count: int, like: Tensor) -> Float[Tensor, "2 1 1 seq pairs"]:
        """Return cosine and sine of the angles of the pairs at the first positions, in float32 or wider."""
        dtype = torch.promote_types(like.dtype, torch.float32)
        pairs = torch.arange(0, self.turned, 2, device=like.device, dtype=dtype)
        positions = torch.arange(count, device=like.device, dtype=dtype)
        angles = positions[:, None] * (1.0 / self.base ** (pairs / self.turned))
        return torch.stack([angles.cos(), angles.sin()])[:, None, None]

    def _turned(self, x: Float[Tensor, "batch heads seq head_dim"], turns: Tensor) -> Tensor:
        """Return x with its pairs turned [batch heads seq head_dim]; `turns` are [2 rows 1 seq pairs]."""
        half = self.turned // 2
        first, second, rest = x.split((half, half, x.shape[-1] - self.turned), -1)
        cos, sin = turns
        parts = ((first * cos - second * sin).to(x.dtype), (second * cos + first * sin).to(x.dtype), rest)
        return torch.cat(parts, -1)


def build_scores(declaration: SelfAttention) -> nn.Module:
    """Return what turns the queries and keys of an attention sublayer."""
    assert isinstance(declaration.position, RotaryPositions)
    return RotaryScores(declaration, declaration.position)


build = none.build
