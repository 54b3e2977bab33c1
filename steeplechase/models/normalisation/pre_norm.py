"""Pre-norm: a norm before the sublayer, none on the residual path."""

from torch import Tensor

from steeplechase.models.normalisation import Map
from steeplechase.models.precision import to_autocast_dtype


def connect(x: Tensor, sublayer: Map, norm: Map, drop: Map) -> Tensor:
    """Return x + sublayer(norm(x))."""
    return x + drop(sublayer(to_autocast_dtype(norm(x))))
