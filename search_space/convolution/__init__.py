"""The convolution branch beside self-attention: the options (ConvBERT, arXiv 2008.02496, Table 2)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from search_space.convolution.kernel import (
    KernelFromValue,
    WithKernel,
    WithValue,
    separable_operations,
    separable_parameters,
    weighted_window,
)
from search_space.convolution.option import ConvolutionOption
from search_space.cost.operation_counts import Operations, linear
from search_space.shape import AttentionShape, linear_parameters
from steeplechase.foundation.schema import OPTION, JsonValue

Convolution = Annotated[ConvolutionOption, OPTION]


class NoConvolution(ConvolutionOption):
    """Self-attention alone, with no convolution beside it.

    BERT: Devlin et al. 2018, arXiv 1810.04805.
    """

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


class Depthwise(WithKernel):
    """One learned kernel per channel of the block's input, then a pointwise map; the same at every position.

    ConvBERT's conventional mode (arXiv 2008.02496, Table 2).
    """

    kind: Literal["depthwise"] = "depthwise"
    """Chooses depthwise-separable convolution."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the branch, the output map excluded."""
        return separable_parameters(shape, self.kernel_size)

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        return separable_operations(shape, self.kernel_size)

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that it saves for the backward pass: the convolved and the moved input."""
        return (1 + self.is_shifted) * shape.width

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token outside matrix products: the window over the input."""
        return 2 * shape.width * self.kernel_size


class Lightweight(WithValue):
    """A learned kernel per head, shared by the head's channels and by all positions.

    Wu et al. 2019, arXiv 1901.10430, section 3.1: the kernel is normalised by a softmax.
    """

    kind: Literal["lightweight"] = "lightweight"
    """Chooses lightweight convolution."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the value map and of one kernel per head."""
        return self.value_parameters(shape) + self.taps(shape)

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        return self.value_operations(shape) + weighted_window(shape, self.kernel_size)

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token saved for the backward pass: the branch's own values, or a moved copy."""
        return shape.inner_width if self.is_shifted else self.saved_own_values(shape)

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token outside matrix products: the window."""
        return 2 * weighted_window(shape, self.kernel_size).multiply_adds


class Dynamic(KernelFromValue):
    """A kernel per head and position, generated from the current token alone.

    Wu et al. 2019, arXiv 1901.10430, section 3.2. The gated linear unit (GLU) that Wu et al. and ConvBERT's text
    put before the kernel is left out, so that this option and the span-based one differ in the source of the kernel
    alone; `gated_dynamic` has it. This option therefore differs from the option in ConvBERT's Table 2, and every
    report with such an arm says so.
    """

    departure: ClassVar[str] = (
        "dynamic convolution: a linear map, a gated linear unit (GLU), then the kernel there; without the GLU here, "
        "so that its value map is half as wide"
    )
    brief_departure: ClassVar[str] = "dynamic is without the paper's GLU"
    kind: Literal["dynamic"] = "dynamic"
    """Chooses dynamic convolution."""


class GatedDynamic(KernelFromValue):
    """A kernel per head and position, generated from the current token's gated value alone.

    Linear map, gated linear unit, kernel per token: Wu et al. 2019, arXiv 1901.10430, section 3; ConvBERT's text
    (arXiv 2008.02496, section 3.1) describes its dynamic mode in the same way. The map behind the convolution is
    the sublayer's output map, shared with attention, as for every option here.
    """

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({},)
    kind: Literal["gated_dynamic"] = "gated_dynamic"
    """Chooses dynamic convolution of gated values."""
    value: Literal["own"] = "own"
    """The values that are convolved: from a separate linear map, because the gate needs one of twice the width."""

    def value_parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the value map, which has twice the inner width: values, then gates."""
        return linear_parameters(shape.width, 2 * shape.inner_width)

    def value_operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the value map and of the gated linear unit per token."""
        gate = Operations(sigmoids=shape.inner_width, products=shape.inner_width)
        return linear(shape.width, 2 * shape.inner_width) + gate

    def saved_own_values(self, shape: AttentionShape) -> int:
        """Return the values per token saved for the backward pass: the map's output, and the gated values."""
        return 3 * shape.inner_width


class SpanDynamic(WithValue):
    """A kernel per head and position, generated from the query times a key that spans `kernel_size` tokens.

    ConvBERT, arXiv 2008.02496, eq. 4-6. Sizes follow the release: one map with bias generates the kernels of all
    heads.
    """

    kind: Literal["span_dynamic"] = "span_dynamic"
    """Chooses span-based dynamic convolution, ConvBERT's own."""
    padding: Literal["masked", "as_released"] = "masked"
    """`masked`: padding counts as the end of the sequence. `as_released`: it enters the convolution, as in ConvBERT's
    release, so that a sequence's output depends on the other sequences of the batch; for parity only."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the span key, the value map and the kernel generator."""
        span_key = separable_parameters(shape, self.kernel_size)
        generator = linear_parameters(shape.inner_width, self.taps(shape))
        return span_key + self.value_parameters(shape) + generator

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        taps = self.taps(shape)
        span_key = separable_operations(shape, self.kernel_size) + Operations(products=shape.inner_width)
        kernels = linear(shape.inner_width, taps) + Operations(softmaxed=taps)
        return span_key + kernels + self.value_operations(shape) + weighted_window(shape, self.kernel_size)

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that the branch saves for the backward pass.

        The convolved, and moved, input, the span key, its product with the query, the kernels, and its own values or
        the moved copy of them.
        """
        values = shape.inner_width if self.is_shifted else self.saved_own_values(shape)
        return (1 + self.is_shifted) * shape.width + 2 * shape.inner_width + self.taps(shape) + values

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token outside matrix products: both windows, and query times span key."""
        return 2 * (shape.width + shape.inner_width) * self.kernel_size + shape.inner_width
