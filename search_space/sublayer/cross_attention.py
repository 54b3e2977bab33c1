"""Cross-attention: a decoder's tokens read the encoder's output. Vaswani et al. 2017, 1706.03762, section 3.2.3."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from search_space.cost import Component, Operations, Role, linear
from search_space.shape import AttentionShape, linear_parameters
from search_space.sublayer.head_sizes import HeadSizes


@dataclass(frozen=True)
class CrossAttention(HeadSizes):
    """A query map of the target, key and value maps of the source, scores, and an output map."""

    kind: ClassVar[str] = "cross_attention"
    width: int
    heads: int
    key_width: int
    """Channels of a query and of a key, per head."""
    value_width: int
    """Channels of a value, per head."""
    source_width: int
    """Channels of the encoder's output."""
    biases: bool = True
    """Whether the four maps have biases."""

    @property
    def widening(self) -> int:
        """Tokens that it adds to the receptive field of convolutions: none."""
        return 0

    def __str__(self) -> str:
        """Return the sizes in words."""
        return f"cross-attention, {self.heads_text}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the maps, the scores and the output map, per token of a target and a source of `length` tokens each.

        The source is one tensor for all sublayers, saved by the encoder's last norm or counted there.
        """
        width, source, keys, values = self.width, self.source_width, self.keys, self.values
        shape = AttentionShape(width, self.heads, self.key_width)
        without_biases = 0 if self.biases else 2 * keys + values
        maps = linear_parameters(width, keys) + linear_parameters(source, keys) + linear_parameters(source, values)
        maps -= without_biases
        inputs = linear(width, keys) + linear(source, keys + values) + Operations(additions=-without_biases)
        yield Component(Role.CROSS_ATTENTION_MAPS, shape, maps, inputs, width + 2 * keys + values)
        pairs = length * self.heads
        scores = Operations(multiply_adds=length * (keys + values), scalings=pairs, softmaxed=pairs, dropped=pairs)
        yield Component(Role.CROSS_ATTENTION_SCORES, shape, 0, scores, values + self.heads)
        output = linear(values, width) + Operations(additions=width, dropped=width)
        output += Operations(additions=0 if self.biases else -width)
        parameters = linear_parameters(values, width) - (0 if self.biases else width)
        yield Component(Role.CROSS_ATTENTION_OUTPUT, shape, parameters, output)

    def mistakes(self) -> Iterator[str]:
        """Yield nothing: all widths fit."""
        yield from ()
