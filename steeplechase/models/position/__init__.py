"""How positions enter the embeddings or the scores: one file per option, named as in `search_space.position`.

`build(option, positions, width)` is a module from a length to encodings [seq width], or a number that adds nothing.
`build_scores(declaration)`, of positions in attention, is a module from queries [batch heads queries head_dim], keys
[batch key_heads keys head_dim] and a context to queries, keys, and what is added to the scores [rows heads queries
keys], where rows is 1 if all have the same; None: nothing. The last query stands at the last key; behind it follow
those of a query stream.
"""

from torch import Tensor

Scored = tuple[Tensor, Tensor, Tensor | None]
"""Queries, keys, and what is added to their scores."""
