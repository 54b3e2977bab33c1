"""The norm of a residual sum after dropout: one kernel in Triton on GPUs, plain torch elsewhere.

Dropout is a value whose rate the kernel, which draws by itself, can read. Srivastava et al. 2014.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout

from steeplechase.models.kernels import window
from steeplechase.models.precision import autocast_dtype, to_autocast_dtype

Map = Callable[[Tensor], Tensor]
WIDEST = 8192
"""Channels of a vector that one program holds."""
SEEDS = 2**31 - 1


@dataclass(frozen=True)
class Drop:
    """Dropout at a rate; at 0 nothing is drawn."""

    rate: float

    def __call__(self, x: Tensor) -> Tensor:
        """Return x with some elements 0 and the others larger."""
        return dropout(x, self.rate) if self.rate else x


NO_DROPOUT = Drop(0.0)


def norm_of_sum(
    x: Float[Tensor, "*batch width"], added: Float[Tensor, "*batch width"], norm: Map, drop: Map
) -> Float[Tensor, "*batch width"]:
    """Return norm(x + drop(added)) in autocast's type."""
    if isinstance(drop, Drop) and _is_fused(x, norm) and torch.promote_types(x.dtype, added.dtype) == x.dtype:
        return _fused(x, added, norm, drop)
    return to_autocast_dtype(norm(x + drop(added)))


def norm_alone(x: Float[Tensor, "*batch width"], norm: Map) -> Float[Tensor, "*batch width"]:
    """Return norm(x), in autocast's type where one kernel computes it."""
    return _fused(x, None, norm, NO_DROPOUT) if _is_fused(x, norm) else norm(x)


def _is_fused(x: Tensor, norm: Map) -> bool:
    """Return whether our kernel computes it; what torch.compile generates is one kernel too, and draws by itself."""
    fits = window.has_fused(x) and type(norm) is nn.LayerNorm and x.shape[-1] <= WIDEST
    return fits and not torch.compiler.is_compiling()


def _fused(x: Tensor, added: Tensor | None, norm: Map, drop: Drop) -> Tensor:
    from steeplechase.models.kernels.triton_norm import residual_norm

    assert isinstance(norm, nn.LayerNorm)
    seed = int(torch.randint(SEEDS, ())) if drop.rate else 0  # of the host's generator: nobody waits for the device
    dtype = autocast_dtype(x.device) or torch.float32
    normalised: Tensor = residual_norm(x, added, norm.weight, norm.bias, norm.eps, drop.rate, seed, dtype)
    return normalised
