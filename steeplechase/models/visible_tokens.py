"""Masks of attention by sequence, for a stack that is trained with several visibilities. UNILM, arXiv 1905.03197."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from search_space.visibility import Visibility


def visible_tokens(
    visibilities: Sequence[Visibility], length: int, source: int, device: torch.device
) -> Bool[Tensor, "batch seq seq"]:
    """Return where a query, the first of both places, reads a key, for each sequence's visibility.

    Under `prefix`, the first `source` tokens read each other and no later one.
    """
    square = torch.ones(length, length, dtype=torch.bool, device=device)
    prefix = square.tril()
    prefix[:, :source] = True
    masks = {
        "bidirectional": square,
        "prefix": prefix,
        "left_to_right": square.tril(),
        "right_to_left": square.triu(),
    }
    return torch.stack([masks[each] for each in visibilities])


def behind_sources(sources: Int[Tensor, " batch"], length: int) -> Bool[Tensor, "batch seq seq"]:
    """Return where a query, the first of both places, reads a key, with a source of its own length in each row.

    The tokens of a source read each other; those behind it read the source and those up to themselves.
    """
    square = torch.ones(length, length, dtype=torch.bool, device=sources.device).tril()
    return square | (torch.arange(length, device=sources.device) < sources[:, None])[:, None, :]
