"""No convolution: attention alone, as in BERT (Devlin et al. 2018, arXiv 1810.04805)."""

from typing import Literal

from search_space.convolution.option import ConvolutionOption
from search_space.cost.operation_counts import Operations
from search_space.shape import AttentionShape


class NoConvolution(ConvolutionOption):
    """Self-attention alone, with no convolution beside it."""

    kind: Literal["none"] = "none"
    """Chooses attention alone, without a convolution."""

    @property
    def branch_width_ratio(self) -> int:
        """Inner widths that the branch adds to the concatenation before the output map."""
        return 0

    @property
    def reach(self) -> None:
        """The window: none."""
        return None

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the branch: none."""
        return 0

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token: none."""
        return Operations()

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that the branch saves for the backward pass: none."""
        return 0

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token outside matrix products: none."""
        return 0
