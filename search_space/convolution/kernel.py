"""Shared by the options with a kernel: its size, and the parameter and operation counts of its convolutions."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from search_space.convolution.option import ConvolutionOption, Reach
from search_space.cost.operation_counts import Operations, linear
from search_space.shape import AttentionShape, linear_parameters
from steeplechase.foundation.schema import JsonValue, OrList


def _odd(kernel_size: int, otherwise: str = "") -> int:
    if kernel_size % 2 == 0:
        neighbours = f"{kernel_size - 1} or {kernel_size + 1}{otherwise}"
        raise ValueError(f'{kernel_size} is even; "same" padding needs an odd kernel. Did you mean {neighbours}?')
    return kernel_size


Taps = Annotated[int, Field(ge=1, le=1023)]
"""Width of a kernel in tokens."""
KernelSize = Annotated[Taps, AfterValidator(_odd)]
"""Width of a kernel in tokens, centred on the output position."""


class WithKernel(ConvolutionOption):
    """An option that slides a kernel over the tokens, beside the attention heads."""

    sized_by: ClassVar[str | None] = "kernel_size"
    window: Literal["centred", "look_back", "look_ahead"] = "centred"
    """Tokens under the kernel: around the output position, or, for models that read in one direction, those up to it
    (causal) or those from it on."""
    kernel_size: Annotated[Taps, OrList()] = 9
    """Width of the kernel in tokens; odd where the window is centred. A list has the width in each layer. Default:
    best at length 128 in ConvBERT's section 4.2."""

    @field_validator("kernel_size")
    @classmethod
    def _odd_where_centred(cls, kernel_size: int, fields: ValidationInfo) -> int:
        centred = fields.data.get("window") == "centred"
        return _odd(kernel_size, ", or window: look_back") if centred else kernel_size

    @property
    def shift(self) -> int:
        """Positions by which the kernel's input is moved to the right, so that it lies under the window.

        Tap j of an unmoved kernel reads the token at j - kernel_size // 2.
        """
        half = self.kernel_size // 2
        return {"centred": 0, "look_back": self.kernel_size - 1 - half, "look_ahead": -half}[self.window]

    @property
    def is_shifted(self) -> bool:
        """Whether the kernel slides over a moved copy of its input, which is saved for the backward pass."""
        return self.shift != 0

    @property
    def branch_width_ratio(self) -> int:
        """Inner widths that the branch adds to the concatenation before the output map."""
        return 1

    @property
    def reach(self) -> Reach:
        """The kernel's window."""
        half, whole = self.kernel_size // 2, self.kernel_size - 1
        sides = {"centred": (half, half), "look_back": (whole, 0), "look_ahead": (0, whole)}
        return Reach(*sides[self.window])


class WithValue(WithKernel):
    """An option that slides its kernel over linearly mapped values."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"value": "shared"})
    value: Literal["own", "shared"] = "own"
    """The values that are convolved. `own`: from a separate linear map (ConvBERT's release). `shared`: attention's
    values (eq. 6)."""

    def value_parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the separate value map; 0 if the values are shared."""
        return linear_parameters(shape.width, shape.inner_width) if self.value == "own" else 0

    def value_operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the separate value map per token."""
        return linear(shape.width, shape.inner_width) if self.value == "own" else Operations()

    def saved_own_values(self, shape: AttentionShape) -> int:
        """Return the values per token that the separate value map saves for the backward pass."""
        return shape.inner_width if self.value == "own" else 0

    def taps(self, shape: AttentionShape) -> int:
        """Return the entries of the kernels of all heads."""
        return shape.heads * self.kernel_size


class KernelFromValue(WithValue):
    """Fields and costs of an option whose kernel, per head and position, is generated from the value alone."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the value map and of the kernel generator."""
        return self.value_parameters(shape) + linear_parameters(shape.inner_width, self.taps(shape))

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        taps = self.taps(shape)
        kernels = linear(shape.inner_width, taps) + Operations(softmaxed=taps)
        return self.value_operations(shape) + kernels + weighted_window(shape, self.kernel_size)

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that the branch saves for the backward pass.

        Its own values, from which the kernels are generated, the kernels, and the moved copy of the values.
        """
        return self.saved_own_values(shape) + self.taps(shape) + self.is_shifted * shape.inner_width

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token outside matrix products: the window, and a gate of the values."""
        return 2 * weighted_window(shape, self.kernel_size).multiply_adds + self.value_operations(shape).products


def separable_parameters(shape: AttentionShape, kernel_size: int) -> int:
    """Return the parameters of a depthwise (no bias) then pointwise map from the width to the inner width."""
    return shape.width * kernel_size + linear_parameters(shape.width, shape.inner_width)


def separable_operations(shape: AttentionShape, kernel_size: int) -> Operations:
    """Return the operations of the separable convolution per token."""
    return Operations(multiply_adds=shape.width * kernel_size) + linear(shape.width, shape.inner_width)


def weighted_window(shape: AttentionShape, kernel_size: int) -> Operations:
    """Return the operations of the weighted sum of `kernel_size` neighbours per token."""
    return Operations(multiply_adds=shape.inner_width * kernel_size)
