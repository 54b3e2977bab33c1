"""A window of attention: tokens read those near them alone. Beltagy et al. 2020, arXiv 2004.05150, section 3.1.

ModernBERT (Warner et al. 2024, arXiv 2412.13663) has it in two of three layers. Processors compute it in blocks of
queries, each with the keys that its windows reach, so that most hidden pairs cost nothing; elsewhere it is a mask.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from search_space.sublayer.attention import BLOCK, SelfAttention
from search_space.visibility import VISIBLE_SIDE

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
"""From queries, keys, values and a mask to the weighted values."""


@dataclass(frozen=True)
class AttentionWindow:
    """The tokens on each side that a query reads beside its own."""

    before: int
    behind: int

    @classmethod
    def of(cls, declaration: SelfAttention) -> "AttentionWindow | None":
        """Return the window of a sublayer; None: all tokens. A prefix is read on both sides."""
        reach = declaration.reach
        if reach is None:
            return None
        side = "both" if declaration.visibility == "prefix" else VISIBLE_SIDE[declaration.visibility]
        return cls(0 if side == "behind" else reach, 0 if side == "before" else reach)

    def band(self, queries: int, keys: int, device: torch.device) -> Bool[Tensor, "queries keys"]:
        """Return which keys each query may read; the last query stands at the last key."""
        distance = torch.arange(keys - queries, keys, device=device)[:, None] - torch.arange(keys, device=device)
        return (distance <= self.before) & (distance >= -self.behind)

    def within(
        self, visible: Bool[Tensor, "rows 1 some keys"] | None, queries: int, keys: int, device: torch.device
    ) -> Bool[Tensor, "rows 1 queries keys"]:
        """Return which visible keys are in the window; a query that is padding may read itself."""
        band = self.band(queries, keys, device)
        if visible is None:
            return band[None, None]
        own = torch.ones_like(band).tril(keys - queries).triu(keys - queries)
        return visible & band | own

    def in_blocks(
        self,
        q: Float[Tensor, "batch heads seq head_dim"],
        k: Float[Tensor, "batch key_heads seq head_dim"],
        v: Float[Tensor, "batch key_heads seq value_dim"],
        visible: Bool[Tensor, "rows 1 some seq"] | None,
        attend: Attend,
    ) -> Float[Tensor, "batch heads seq value_dim"]:
        """Return the weighted values, block by block of queries, each with the blocks of keys that it reaches.

        All blocks share one mask where no other hides keys.
        """
        before, behind = -(-self.before // BLOCK), -(-self.behind // BLOCK)
        keys, values, found = k.split(BLOCK, 2), v.split(BLOCK, 2), []
        blocks = before + 1 + behind
        band = self.band(BLOCK * (1 + behind), BLOCK * blocks, q.device)[:BLOCK]
        added = torch.zeros(band.shape, dtype=q.dtype, device=q.device).masked_fill_(~band, -torch.inf)
        own = torch.eye(BLOCK, dtype=torch.bool, device=q.device)
        own = pad(own, (before * BLOCK, behind * BLOCK))
        for number, query in enumerate(q.split(BLOCK, 2)):
            first, last = max(0, number - before), min(len(keys), number + 1 + behind)
            key, value = torch.cat(keys[first:last], 2), torch.cat(values[first:last], 2)
            rows, start = slice(0, query.shape[2]), (first - number + before) * BLOCK
            columns = slice(start, start + key.shape[2])
            mask = added[rows, columns]
            if visible is not None:
                asked = visible if visible.shape[2] == 1 else visible.split(BLOCK, 2)[number]
                read = asked[..., first * BLOCK : first * BLOCK + key.shape[2]]
                mask = band[rows, columns] & read | own[rows, columns]
            found.append(attend(query, key, value, mask))
        return torch.cat(found, 2)
