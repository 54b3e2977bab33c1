"""Self-attention, with a convolution branch beside it. Vaswani et al. 2017, 1706.03762; ConvBERT, 2008.02496."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from search_space.bottleneck import canonical_ratio, kept_heads, refusal
from search_space.convolution import Convolution
from search_space.cost import Component, Operations, Role, linear
from search_space.layer_program import Setting, SublayerKind
from search_space.position.option import PositionOption, ScoreSizes
from search_space.shape import AttentionShape, linear_parameters
from search_space.sublayer.own_convolution import own_convolution
from search_space.sublayer.sublayer import (
    HEAD_SETTINGS,
    HeadSizes,
    InvalidSetting,
    LetteredSublayer,
    StackSizes,
    head_sizes,
)
from search_space.visibility import Visibility, looks_ahead

RATIO = "bottleneck_ratio"


@dataclass(frozen=True)
class SelfAttention(HeadSizes, LetteredSublayer):
    """Query, key and value maps, scores, a convolution branch, and one output map for both."""

    kind: ClassVar[str] = "attention"
    letter: ClassVar[str] = SublayerKind.SELF_ATTENTION
    examples: ClassVar[tuple[Mapping[str, Setting], ...]] = (
        {},
        {"bottleneck_ratio": 2},
        {"convolution": "span_dynamic", "kernel_size": 3},
        {"convolution": "none"},
    )
    width: int
    heads: int
    """After the bottleneck."""
    key_width: int
    """Channels of a query and of a key, per head."""
    value_width: int
    """Channels of a value, per head."""
    convolution: Convolution
    visibility: Visibility = "bidirectional"
    position: PositionOption | None = None
    """Positions that enter the scores; None: none do."""
    biases: bool = True
    """Whether the four maps have biases."""
    memory: int = 0
    """Tokens of earlier segments that are read too."""

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer with a program's settings. Raises InvalidSetting."""
        convolution = own_convolution(cls.letter, settings, sizes, (*HEAD_SETTINGS, RATIO))
        of_heads = {name: value for name, value in settings.items() if name in HEAD_SETTINGS}
        heads, key_width, value_width = head_sizes(cls.letter, of_heads, sizes)
        try:
            ratio = canonical_ratio(settings.get(RATIO, sizes.bottleneck_ratio))
        except ValueError as error:
            raise InvalidSetting(f"{RATIO}: {error}") from None
        unfit = refusal(heads, ratio)
        if unfit is not None:
            raise InvalidSetting(f"bottleneck_ratio {unfit}")
        return cls(
            sizes.width,
            int(kept_heads(heads, ratio)),
            key_width,
            value_width,
            convolution,
            sizes.visibility,
            sizes.position if sizes.position.in_attention else None,
            sizes.attention_biases,
            sizes.memory,
        )

    @property
    def shape(self) -> AttentionShape:
        """Sizes of the convolution branch, which has the heads of attention and the width of its queries."""
        return AttentionShape(self.width, self.heads, self.key_width)

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
        branch = "" if not self.convolution.branch_width_ratio else f", {self.convolution.kind}"
        return f"self-attention, {self.heads_text}{branch}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the maps, the scores, the convolution branch and the output map."""
        width, shape, keys, values, context = self.width, self.shape, self.keys, self.values, self.context_width
        without_biases = 0 if self.biases else 2 * keys + values
        maps = 2 * linear_parameters(width, keys) + linear_parameters(width, values) - without_biases
        inputs = linear(width, 2 * keys + values) + Operations(additions=-without_biases)
        inputs += Operations(multiply_adds=self.memory * width * (keys + values) // length)
        yield Component(Role.ATTENTION_MAPS, shape, maps, inputs, width + 2 * keys + values)
        read = length + self.memory
        pairs, products = read * self.heads, read * (keys + values)
        scores = Operations(multiply_adds=products, scalings=pairs, softmaxed=pairs, dropped=pairs)
        saved = values + self.heads  # the normaliser of each softmax is saved
        yield Component(Role.ATTENTION_SCORES, shape, 0, scores, saved)
        if self.position is not None:
            yield self._position_scores(self.position, length)
        branch = self.convolution
        yield Component(
            Role.CONVOLUTION,
            shape,
            branch.parameters(shape),
            branch.operations(shape),
            branch.saved_activations(shape),
        )
        output = linear(context, width) + Operations(additions=width, dropped=width)
        output += Operations(additions=0 if self.biases else -width)
        saved = context if context > values else 0  # attention's output is saved once, and so is the concatenation
        parameters = linear_parameters(context, width) - (0 if self.biases else width)
        yield Component(Role.OUTPUT_MAP, shape, parameters, output, saved)

    def _position_scores(self, position: PositionOption, length: int) -> Component:
        """Return the positions in the scores."""
        sizes = self._score_sizes(length)
        operations = position.sequence_operations(sizes) + position.query_operations(sizes)
        parameters, saved = position.score_parameters(sizes), position.saved_activations(sizes)
        return Component(Role.RELATIVE_SCORES, self.shape, parameters, operations, saved)

    def _score_sizes(self, length: int) -> ScoreSizes:
        ahead = looks_ahead(self.visibility)
        return ScoreSizes(self.width, self.heads, self.keys, length, length + self.memory, ahead)

    def query_operations(self, length: int) -> Operations:
        """Return the operations of a query that stands beside the content of a sequence, whose keys it reads."""
        width, keys, read = self.width, self.keys, length + self.memory
        pairs = read * self.heads
        attention = Operations(
            multiply_adds=read * (keys + self.values), scalings=pairs, softmaxed=pairs, dropped=pairs
        )
        maps = linear(width, keys) + linear(self.context_width, width) + Operations(additions=width, dropped=width)
        maps += Operations(additions=0 if self.biases else -(keys + width))
        if self.position is None:
            return attention + maps
        return attention + maps + self.position.query_operations(self._score_sizes(length))

    def mistakes(self) -> Iterator[str]:
        """Yield what the convolution branch, whose values have the width of its queries, cannot be built with."""
        if self.convolution.branch_width_ratio and self.key_width != self.value_width:
            widths = f"key width {self.key_width} and value width {self.value_width}"
            yield f"{widths} differ; the convolution {self.convolution.kind} needs equal ones"
