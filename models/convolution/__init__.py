"""The convolution branch beside the attention heads: one file per option, named as in `search_space.convolution`."""

from importlib import import_module
from typing import Protocol

from jaxtyping import Bool, Float
from torch import Tensor, nn

from search_space.convolution import Convolution
from search_space.shape import AttentionShape

Real = Bool[Tensor, "batch seq"] | None
"""Which tokens are real, None where all are; padding counts as the end of the sequence."""


class Branch(Protocol):
    """What every file of this folder defines under this name."""

    def __call__(
        self, x: Float[Tensor, "batch seq width"], query: Float[Tensor, "batch seq inner"], real: Real
    ) -> Float[Tensor, "batch seq inner"]:
        """Return what the branch adds to the concatenation; padding never reaches a real position."""


def build_branch(option: Convolution, shape: AttentionShape) -> nn.Module | None:
    """Return the module of an option, None for attention alone."""
    if option.branch_width_ratio == 0:
        return None
    module: nn.Module = import_module(f"models.convolution.{option.kind}").Branch(option, shape)
    return module
