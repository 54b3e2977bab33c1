"""Features of an encoder by name: which hidden states are read. Devlin et al. 2018, 1810.04805, Table 7."""

from typing import Literal

Features = Literal["embeddings", "last", "second_to_last", "sum_last_four", "concat_last_four", "weighted_sum_all"]
"""Rows of Table 7. The two sums have learned weights (Peters et al. 2018, arXiv 1802.05365, eq. 1)."""
WEIGHTED: frozenset[Features] = frozenset({"sum_last_four", "weighted_sum_all"})


def layers_read(features: Features, depth: int) -> tuple[int, ...]:
    """Return the hidden states that are read: 0 is the input of the first block, `depth` the output of the last.

    Of an encoder with fewer than four blocks, the last four states begin with the input of the first block.
    """
    last_four = tuple(range(max(0, depth - 3), depth + 1))
    layers: dict[Features, tuple[int, ...]] = {
        "embeddings": (0,),
        "last": (depth,),
        "second_to_last": (depth - 1,),
        "sum_last_four": last_four,
        "concat_last_four": last_four,
        "weighted_sum_all": tuple(range(1, depth + 1)),
    }
    return layers[features]
