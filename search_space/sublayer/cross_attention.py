"""Cross-attention: a decoder's tokens read the encoder's output. Vaswani et al. 2017, 1706.03762, section 3.2.3."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from search_space.cost import Component, Operations, Role, linear
from search_space.layer_program import Setting, SublayerKind
from search_space.shape import AttentionShape, linear_parameters
from search_space.sublayer.sublayer import HeadSizes, InvalidSetting, LetteredSublayer, StackSizes, head_sizes


@dataclass(frozen=True)
class CrossAttention(HeadSizes, LetteredSublayer):
    """A query map of the target, key and value maps of the source, scores, and an output map."""

    kind: ClassVar[str] = "cross_attention"
    letter: ClassVar[str] = SublayerKind.CROSS_ATTENTION
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

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer with a program's settings. Raises InvalidSetting."""
        if sizes.source_width is None:
            raise InvalidSetting("c is cross-attention, which only a decoder has; an encoder has s, f, g and r")
        heads, key_width, value_width = head_sizes(cls.letter, settings, sizes)
        return cls(sizes.width, heads, key_width, value_width, sizes.source_width, sizes.attention_biases)

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
