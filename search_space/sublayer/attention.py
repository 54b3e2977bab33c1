"""Self-attention, with a convolution branch beside it. Vaswani et al. 2017, 1706.03762; ConvBERT, 2008.02496."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from search_space.convolution import Convolution
from search_space.cost import Component, Operations, Role, linear
from search_space.shape import AttentionShape, linear_parameters

Visibility = Literal["bidirectional", "left_to_right", "right_to_left"]
"""The tokens that a token reads: all, those up to itself, or those from itself on."""


@dataclass(frozen=True)
class SelfAttention:
    """Query, key and value maps, scores, a convolution branch, and one output map for both."""

    kind: ClassVar[str] = "attention"
    width: int
    heads: int
    """After the bottleneck."""
    key_width: int
    """Channels of a query and of a key, per head."""
    value_width: int
    """Channels of a value, per head."""
    convolution: Convolution
    visibility: Visibility = "bidirectional"

    @property
    def shape(self) -> AttentionShape:
        """Sizes of the convolution branch, which has the heads of attention and the width of its queries."""
        return AttentionShape(self.width, self.heads, self.key_width)

    @property
    def keys(self) -> int:
        """Channels of the queries of all heads."""
        return self.heads * self.key_width

    @property
    def values(self) -> int:
        """Channels of the values of all heads."""
        return self.heads * self.value_width

    @property
    def context_width(self) -> int:
        """Channels of the concatenation that the output map reads: attention's, then the branch's."""
        return self.values + self.keys * self.convolution.branch_width_ratio

    @property
    def widening(self) -> int:
        """Tokens that its convolution adds to the receptive field."""
        reach = self.convolution.reach
        return 0 if reach is None else reach.tokens - 1

    def __str__(self) -> str:
        """Return the sizes in words."""
        heads = "1 head" if self.heads == 1 else f"{self.heads} heads"
        widths = f"of {self.key_width}"
        if self.key_width != self.value_width:
            widths = f"with keys of {self.key_width} and values of {self.value_width}"
        branch = "" if not self.convolution.branch_width_ratio else f", {self.convolution.kind}"
        return f"self-attention, {heads} {widths}{branch}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the maps, the scores, the convolution branch and the output map."""
        width, shape, keys, values, context = self.width, self.shape, self.keys, self.values, self.context_width
        maps = 2 * linear_parameters(width, keys) + linear_parameters(width, values)
        inputs = linear(width, 2 * keys + values)
        yield Component(Role.ATTENTION_MAPS, shape, maps, inputs, width + 2 * keys + values)
        pairs = length * self.heads
        products = length * (keys + values)
        scores = Operations(multiply_adds=products, scalings=pairs, softmaxed=pairs, dropped=pairs)
        saved = values + self.heads  # the normaliser of each softmax is saved
        yield Component(Role.ATTENTION_SCORES, shape, 0, scores, saved)
        branch = self.convolution
        yield Component(
            Role.CONVOLUTION,
            shape,
            branch.parameters(shape),
            branch.operations(shape),
            branch.saved_activations(shape),
        )
        output = linear(context, width) + Operations(additions=width, dropped=width)
        saved = context if context > values else 0  # attention's output is saved once, and so is the concatenation
        yield Component(Role.OUTPUT_MAP, shape, linear_parameters(context, width), output, saved)

    def mistakes(self) -> Iterator[str]:
        """Yield what the convolution branch, whose values have the width of its queries, cannot be built with."""
        if self.convolution.branch_width_ratio and self.key_width != self.value_width:
            widths = f"key width {self.key_width} and value width {self.value_width}"
            yield f"{widths} differ; the convolution {self.convolution.kind} needs equal ones"
