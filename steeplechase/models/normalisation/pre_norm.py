"""Pre-norm: a norm before the sublayer, none on the residual path."""

from torch import Tensor

from steeplechase.models.kernels.residual_norm import norm_alone
from steeplechase.models.normalisation import Map
from steeplechase.models.precision import to_autocast_dtype, to_float32


def connect(x: Tensor, sublayer: Map, norm: Map, drop: Map) -> Tensor:
    """Return x + sublayer(norm(x)); on an accelerator the sum is in float32, or rounding would add up with depth."""
    x = x if x.device.type == "cpu" else to_float32(x)
    return x + drop(sublayer(to_autocast_dtype(norm_alone(x, norm))))
