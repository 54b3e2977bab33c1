"""Norms of a token's channels by name, with their costs. Layer norm: Ba et al. 2016, arXiv 1607.06450.

Root mean square norm: Zhang and Sennrich 2019, arXiv 1910.07467.
"""

from typing import Literal

Norm = Literal["layer_norm", "layer_norm_without_bias", "rms_norm"]
"""`layer_norm` subtracts the mean, divides by the deviation, and has gains and biases; `layer_norm_without_bias` has
gains alone (ModernBERT, 2412.13663); `rms_norm` divides by the root of the mean square, with gains (NeoBERT)."""

VECTORS: dict[Norm, int] = {"layer_norm": 2, "layer_norm_without_bias": 1, "rms_norm": 1}
"""Parameters for each channel."""
STATISTICS: dict[Norm, int] = {"layer_norm": 2, "layer_norm_without_bias": 2, "rms_norm": 1}
"""Values per token that training saves beside the input: a mean and a deviation, or the root alone."""


def norm_parameters(norm: Norm, width: int) -> int:
    """Return the gains and biases of one norm."""
    return VECTORS[norm] * width


def saved_by_norm(norm: Norm, width: int) -> int:
    """Return the values per token that one norm saves for the backward pass: its input and its statistics."""
    return width + STATISTICS[norm]
