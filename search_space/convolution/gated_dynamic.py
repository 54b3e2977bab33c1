"""Dynamic convolution with its gated linear unit (GLU): linear map, GLU, kernel per token. Wu et al. 2019, section 3.

arXiv 1901.10430; ConvBERT's text (arXiv 2008.02496, section 3.1) describes its dynamic mode in the same way. The map
behind the convolution is the sublayer's output map, shared with attention, as for every option here.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from search_space.convolution.kernel import KernelFromValue
from search_space.cost.operation_counts import Operations, linear
from search_space.shape import AttentionShape, linear_parameters
from steeplechase.foundation.schema import JsonValue


class GatedDynamic(KernelFromValue):
    """A kernel per head and position, generated from the current token's gated value alone."""

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
