"""Builds the norms of `search_space.norm`; no other file names a class of norms.

Layer norm: Ba et al. 2016, arXiv 1607.06450. Root mean square norm: Zhang and Sennrich 2019, arXiv 1910.07467, eq. 4.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import rms_norm

from search_space.norm import Norm
from search_space.normalisation.option import NormalisationOption
from steeplechase.models.normalisation import Map


class RmsNorm(nn.Module):
    """The channels over the root of their mean square, times gains; computed in float32 or wider."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Set the gains to one; nothing is drawn from the generator."""
        nn.init.ones_(self.weight)

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return the normalised vectors."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        if x.device.type == "cpu":  # where torch's is not fused: it saves twice as much
            normalised: Tensor = _RootMeanSquare.apply(wide, self.weight, self.eps)  # type: ignore[no-untyped-call]
            return normalised
        return rms_norm(wide, x.shape[-1:], self.weight, self.eps)


class _RootMeanSquare(torch.autograd.Function):
    """The norm and its gradients from its input and one number per vector."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        mean_square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_().div_(x.shape[-1])
        scale = mean_square.add_(eps).rsqrt_()
        ctx.save_for_backward(x, weight, scale)
        normalised: Tensor = (x * scale).mul_(weight)
        return normalised

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (gradient,) = gradients
        x, weight, scale = ctx.saved_tensors
        normalised = x * scale
        of_weight = (gradient * normalised).flatten(0, -2).sum(0)
        scaled = gradient * weight
        along = torch.linalg.vecdot(scaled, normalised)[..., None].div_(x.shape[-1])
        return scaled.sub_(normalised.mul_(along)).mul_(scale), of_weight, None


NORMS = (nn.LayerNorm, RmsNorm)
"""The classes of norms, which all have `eps`."""


def build_norm(norm: Norm, width: int, epsilon: float = 1e-5) -> nn.Module:
    """Return a norm of vectors of so many channels; a block sets the epsilon of the norms inside it."""
    if norm == "rms_norm":
        return RmsNorm(width, epsilon)
    return nn.LayerNorm(width, eps=epsilon, bias=norm == "layer_norm")


def norm_of(normalisation: NormalisationOption, width: int) -> nn.Module:
    """Return a norm as an architecture declares its norms."""
    return build_norm(normalisation.norm, width, normalisation.epsilon)


def prepared_norm(norm: nn.Module) -> Map:
    """Return a norm as a function, for incremental decoding: the same arithmetic in less time between products."""
    if not isinstance(norm, nn.LayerNorm):
        return norm
    shape, weight, bias, epsilon = norm.normalized_shape, norm.weight, norm.bias, norm.eps

    def normalised(x: Tensor) -> Tensor:
        return torch.layer_norm(x, shape, weight, bias, epsilon, False)

    return normalised
