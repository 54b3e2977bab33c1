"""The convolution branch beside the attention heads: one file per option, named as in `search_space.convolution`."""

from abc import abstractmethod
from importlib import import_module

from jaxtyping import Bool, Float
from torch import Tensor, nn

from search_space.convolution import Convolution
from search_space.convolution.kernel import WithValue
from search_space.shape import AttentionShape

PaddingMask = Bool[Tensor, "batch seq"] | None
"""True where a token is real, None where all are; padding counts as the end of the sequence."""


class ConvolutionBranch(nn.Module):
    """What every file of this folder offers, as a class named `Branch`."""

    value: nn.Linear | None
    """The branch's own map to its values, None where it has none."""

    @abstractmethod
    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        query: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq inner"],
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq inner"]:
        """Return what the branch adds to the concatenation; padding never reaches a real position.

        `value` is the block's input under the branch's own map where it has one, else attention's values.
        """


def build_branch(option: Convolution, shape: AttentionShape) -> ConvolutionBranch | None:
    """Return the module of an option, None for attention alone."""
    if option.branch_width_ratio == 0:
        return None
    module: ConvolutionBranch = import_module(f"models.convolution.{option.kind}").Branch(option, shape)
    return module


def value_map(option: WithValue, shape: AttentionShape) -> nn.Linear | None:
    """Return the branch's own map to its values, None where it shares attention's."""
    return nn.Linear(shape.width, shape.inner_width) if option.value == "own" else None
