"""Post-norm: a norm after the residual sum."""

from torch import Tensor

from steeplechase.models.normalisation import Map
from steeplechase.models.precision import to_autocast_dtype


def connect(x: Tensor, sublayer: Map, norm: Map, drop: Map) -> Tensor:
    """Return norm(x + sublayer(x))."""
    return to_autocast_dtype(norm(x + drop(sublayer(x))))
