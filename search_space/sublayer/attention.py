"""Self-attention, with a convolution branch beside it. Vaswani et al. 2017, 1706.03762; ConvBERT, 2008.02496."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from search_space.bottleneck import canonical_ratio, kept_heads, refusal
from search_space.convolution import Convolution
from search_space.convolution.kernel import WithValue
from search_space.cost import Component, Operations, Role, linear
from search_space.layer_program import Setting, SublayerKind
from search_space.norm import Norm, norm_parameters, saved_by_norm
from search_space.position.option import PositionOption, ScoreSizes
from search_space.shape import AttentionShape, linear_parameters, near
from search_space.sublayer.own_convolution import own_convolution
from search_space.sublayer.sublayer import (
    HEAD_SETTINGS,
    HeadSizes,
    InvalidSetting,
    LetteredSublayer,
    StackSizes,
    head_sizes,
    whole_number,
)
from search_space.visibility import VISIBLE_SIDE, Visibility, looks_ahead

RATIO, STORED, LOCAL = "bottleneck_ratio", "key_value_heads", "local"
OWN = (*HEAD_SETTINGS, RATIO, STORED, LOCAL)
"""The settings that are not of its convolution."""
BLOCK = 64
"""Queries that processors compute together in a window."""


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
        {"key_value_heads": 2, "local": 4},
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
    key_heads: int = 0
    """Heads of keys and of values, each read by as many heads of queries; 0: as many as those."""
    local: int | None = None
    """The window in tokens, half of it on each side; None: all tokens."""
    head_norm: Norm | None = None
    """The norm of queries and keys, head by head; None: none."""
    score_cap: float | None = None
    """The bound of a score's size, by a hyperbolic tangent; None: none."""

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer with a program's settings. Raises InvalidSetting."""
        convolution = own_convolution(cls.letter, settings, sizes, OWN)
        of_heads = {name: value for name, value in settings.items() if name in HEAD_SETTINGS}
        heads, key_width, value_width = head_sizes(cls.letter, of_heads, sizes)
        try:
            ratio = canonical_ratio(settings.get(RATIO, sizes.bottleneck_ratio))
        except ValueError as error:
            raise InvalidSetting(f"{RATIO}: {error}") from None
        unfit = refusal(heads, ratio)
        if unfit is not None:
            raise InvalidSetting(f"bottleneck_ratio {unfit}")
        kept = int(kept_heads(heads, ratio))
        return cls(
            sizes.width,
            kept,
            key_width,
            value_width,
            convolution,
            sizes.visibility,
            sizes.position if sizes.position.in_attention else None,
            sizes.attention_biases,
            sizes.memory,
            whole_number(settings, STORED, sizes.key_value_heads or kept),
            _window(settings, sizes),
            sizes.norm if sizes.query_key_norm else None,
            sizes.attention_score_cap,
        )

    def __post_init__(self) -> None:
        """Let equal heads be equal declarations."""
        object.__setattr__(self, "key_heads", self.key_heads or self.heads)

    @property
    def is_plain(self) -> bool:
        """Whether every head has its keys, queries and keys are not normalised, and scores have no cap."""
        return self.key_heads == self.heads and self.head_norm is None and self.score_cap is None

    @property
    def stored_keys(self) -> int:
        """Channels of the keys of all heads."""
        return self.key_heads * self.key_width

    @property
    def stored_values(self) -> int:
        """Channels of the values of all heads, each read by as many heads of queries."""
        return self.key_heads * self.value_width

    @property
    def reach(self) -> int | None:
        """Tokens on each side that the window has; None: all."""
        return None if self.local is None else self.local // 2

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
        stored = "" if self.key_heads == self.heads else f", {self.key_heads} of keys and values"
        window = "" if self.local is None else f", window {self.local}"
        branch = "" if not self.convolution.branch_width_ratio else f", {self.convolution.kind}"
        cap = "" if self.score_cap is None else f", scores capped at {self.score_cap:g}"
        return f"self-attention, {self.heads_text}{stored}{window}{cap}{branch}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the maps, the scores, the convolution branch and the output map."""
        width, shape, values, context = self.width, self.shape, self.values, self.context_width
        yield self._maps(length)
        yield self._scores(length)
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
        output = linear(context, width, biases=self.biases) + Operations(additions=width, dropped=width)
        joined = context > values or self.reads_in_blocks(length)
        saved = context if joined else 0  # attention's output is saved once, and so is the concatenation
        parameters = linear_parameters(context, width, biases=self.biases)
        yield Component(Role.OUTPUT_MAP, shape, parameters, output, saved)

    def _scores(self, length: int) -> Component:
        """Return the scores, their softmax and the weighted values; weights of pairs are stored with a cap alone."""
        read = self.pairs(length)
        pairs, products = read * self.heads // length, read * (self.keys + self.values) // length
        scores = Operations(multiply_adds=products, scalings=pairs, softmaxed=pairs, dropped=pairs)
        scores += self._cap_operations(pairs)
        if self.score_cap is None:
            saved = self.values + self.heads  # the normaliser of each softmax is saved
            return Component(Role.ATTENTION_SCORES, self.shape, 0, scores, saved)
        repeated = self.keys - self.stored_keys + self.values - self.stored_values
        weights = self._stored_pairs(length) * self.heads // length
        saved = self.values + repeated + 2 * weights  # and their tangents
        return Component(Role.ATTENTION_SCORES, self.shape, 0, scores, saved, stored_weights=weights)

    def _stored_pairs(self, length: int) -> int:
        """Return the pairs whose weights are stored where no fused kernel computes them, hidden ones included."""
        if self.reads_in_blocks(length):
            return BLOCK * self.read_in_blocks(length)
        return length * (length + self.memory)

    def _cap_operations(self, pairs: int) -> Operations:
        """Return the operations of the soft cap per token: a hyperbolic tangent is a scaled sigmoid."""
        return Operations() if self.score_cap is None else Operations(scalings=2 * pairs, sigmoids=pairs)

    def _maps(self, length: int) -> Component:
        """Return the maps of queries, keys and values, with the norms of queries and keys."""
        stored = self.stored_keys + self.stored_values
        parameters = linear_parameters(self.width, self.keys + stored, biases=self.biases)
        operations = linear(self.width, self.keys + stored, biases=self.biases)
        operations += Operations(multiply_adds=self.memory * self.width * stored // length)
        copies = self.read_in_blocks(length) if self.reads_in_blocks(length) else length
        saved = self.width + self.keys + stored * copies // length
        if self.head_norm is not None:
            parameters += 2 * norm_parameters(self.head_norm, self.key_width)
            operations += Operations(normalised=self.keys + self.stored_keys)
            saved += (self.heads + self.key_heads) * saved_by_norm(self.head_norm, self.key_width)
        return Component(Role.ATTENTION_MAPS, self.shape, parameters, operations, saved)

    def pairs(self, length: int) -> int:
        """Return the pairs of a query and a key whose product is read in a sequence: all, or those of the window.

        Without a window, keys that the visibility hides count too, as in every published convention.
        """
        if self.reach is None:
            return length * (length + self.memory)
        reach = min(self.reach, length - 1)
        one_side = length * reach - reach * (reach + 1) // 2
        return length + one_side * self._sides

    @property
    def _sides(self) -> int:
        """Sides on which a window reads; those of a prefix, which costs know not, are left out."""
        return 2 if VISIBLE_SIDE[self.visibility] == "both" else 1

    def reads_in_blocks(self, length: int) -> bool:
        """Return whether processors compute the window block by block: where that skips half of all pairs or more."""
        return self.reach is not None and length >= 2 * BLOCK * (1 + 2 * -(-self.reach // BLOCK))

    def read_in_blocks(self, length: int) -> int:
        """Return the keys that are read block by block, counted once for each block of queries that reads them."""
        assert self.reach is not None
        blocks, near_ones = -(-length // BLOCK), -(-self.reach // BLOCK)
        one_side = blocks * near_ones - near_ones * (near_ones + 1) // 2
        return BLOCK * (blocks + one_side * self._sides)

    def _position_scores(self, position: PositionOption, length: int) -> Component:
        """Return the positions in the scores."""
        sizes = self._score_sizes(length)
        operations = position.sequence_operations(sizes) + position.query_operations(sizes)
        parameters, saved = position.score_parameters(sizes), position.saved_activations(sizes)
        return Component(Role.RELATIVE_SCORES, self.shape, parameters, operations, saved)

    def _score_sizes(self, length: int) -> ScoreSizes:
        ahead = looks_ahead(self.visibility)
        return ScoreSizes(self.width, self.heads, self.keys, length, length + self.memory, self.key_heads, ahead)

    def query_operations(self, length: int) -> Operations:
        """Return the operations of a query that stands beside the content of a sequence, whose keys it reads."""
        width, keys, read = self.width, self.keys, length + self.memory
        pairs = read * self.heads
        attention = Operations(
            multiply_adds=read * (keys + self.values), scalings=pairs, softmaxed=pairs, dropped=pairs
        )
        attention += self._cap_operations(pairs)
        maps = linear(width, keys) + linear(self.context_width, width) + Operations(additions=width, dropped=width)
        maps += Operations(additions=0 if self.biases else -(keys + width))
        if self.position is None:
            return attention + maps
        return attention + maps + self.position.query_operations(self._score_sizes(length))

    def stored_mistakes(self) -> Iterator[str]:
        """Yield why the heads cannot share keys and values."""
        stored, heads = f"{STORED} {self.key_heads}", f"{self.heads} heads"
        if self.heads % self.key_heads:
            yield f"{stored} does not divide {heads}. Allowed near it: {near(self.heads, self.key_heads)}"
        branch = self.convolution
        if isinstance(branch, WithValue) and branch.value == "shared" and self.key_heads != self.heads:
            yield f"{stored}: {branch.kind} with shared values reads those of {heads}; write value: own"

    def mistakes(self) -> Iterator[str]:
        """Yield what the convolution branch, whose values have the width of its queries, cannot be built with."""
        if self.convolution.branch_width_ratio and self.key_width != self.value_width:
            widths = f"key width {self.key_width} and value width {self.value_width}"
            yield f"{widths} differ; the convolution {self.convolution.kind} needs equal ones"


def _window(settings: Mapping[str, Setting], sizes: StackSizes) -> int | None:
    """Return the window of a sublayer; `none` is all tokens. Raises InvalidSetting."""
    if settings.get(LOCAL) == "none":
        return None
    if LOCAL not in settings:
        return sizes.local
    window = whole_number(settings, LOCAL, 2)
    if window % 2:
        near_it = f"{window - 1} or {window + 1}" if window > 1 else "2"
        raise InvalidSetting(f"{LOCAL}={window} is odd; half of the window is on each side. Did you mean {near_it}?")
    return window
