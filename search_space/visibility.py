"""Visibility: the tokens that a token reads."""

from typing import Literal

Visibility = Literal["bidirectional", "left_to_right", "right_to_left", "prefix", "permutation"]
"""The tokens that a token reads: all, those up to itself, those from itself on, those up to itself and the first
segment, which reads itself in both directions (UNILM, arXiv 1905.03197), or those before it in the order that
pretraining draws for the sequence, and all elsewhere (XLNet, arXiv 1906.08237)."""

VisibleSide = Literal["both", "before", "behind"]

VISIBLE_SIDE: dict[Visibility, VisibleSide] = {
    "bidirectional": "both",
    "left_to_right": "before",
    "right_to_left": "behind",
    "prefix": "before",
    "permutation": "both",
}
"""The side on which kernels and recurrent layers, which know no prefix, read other tokens."""

WINDOWS: dict[Visibility, tuple[str, ...]] = {
    "bidirectional": ("centred", "look_back", "look_ahead"),
    "left_to_right": ("look_back",),
    "right_to_left": ("look_ahead",),
    "prefix": ("look_back",),
    "permutation": ("centred", "look_back", "look_ahead"),  # refused by `reading_violations`
}
"""The windows of convolutions that read no hidden token, by visibility."""


def looks_ahead(visibility: Visibility) -> bool:
    """Return whether attention reads tokens behind a token anywhere: with a prefix it does inside the prefix."""
    return VISIBLE_SIDE[visibility] != "before" or visibility == "prefix"
