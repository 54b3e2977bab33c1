"""The convolution branch beside the attention heads: one file per option, named as in `search_space.convolution`."""

from abc import abstractmethod

from jaxtyping import Bool, Float
from torch import Tensor, nn

from search_space.convolution import Convolution
from search_space.convolution.kernel import WithValue
from search_space.shape import AttentionShape
from steeplechase.foundation.option_modules import module_of

PaddingMask = Bool[Tensor, "batch seq"] | None
"""True for tokens, False for padding; None if there is no padding. Padding counts as the end of the sequence."""


class ConvolutionBranch(nn.Module):
    """Base class: each file of this folder defines a subclass named `Branch`."""

    value: nn.Linear | None
    """The separate value map of the branch, None if it has none."""

    @abstractmethod
    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        query: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq inner"],
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq inner"]:
        """Return the branch's part of the concatenation; padding does not affect the output at other positions.

        `value` comes from the branch's own value map if it has one, else from attention.
        """


def build_branch(option: Convolution, shape: AttentionShape) -> ConvolutionBranch | None:
    """Return the module of an option, None for the option without convolution."""
    if option.branch_width_ratio == 0:
        return None
    module: ConvolutionBranch = module_of(option).Branch(option, shape)
    return module


def value_map(option: WithValue, shape: AttentionShape) -> nn.Linear | None:
    """Return the separate value map of the branch, None if it shares attention's values."""
    return nn.Linear(shape.width, shape.inner_width) if option.value == "own" else None
