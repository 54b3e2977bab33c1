"""Post-norm: a norm after the residual sum."""

from torch import Tensor

from steeplechase.models.kernels.residual_norm import norm_of_sum
from steeplechase.models.normalisation import Map


def connect(x: Tensor, sublayer: Map, norm: Map, drop: Map) -> Tensor:
    """Return norm(x + sublayer(x))."""
    return norm_of_sum(x, sublayer(x), norm, drop)
