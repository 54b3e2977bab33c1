"""A stack: the blocks of sublayers that a layer program makes of an architecture's sizes, and their costs.

A block is self-attention and the feed-forward network that follows it, or any other sublayer alone; `(s f)*12` thus
has 12 blocks. A block's number and a sublayer's kind name its parameters.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from search_space.activation import Activation
from search_space.convolution import Convolution
from search_space.cost import Component, Operations, Role
from search_space.layer_program import Chain, Item, LayerProgram, Parallel, Sublayer, SublayerKind
from search_space.position import Position
from search_space.shape import NORMALISATION_STATISTICS, AttentionShape, layer_norm_parameters
from search_space.sublayer.attention import SelfAttention, Visibility
from search_space.sublayer.cross_attention import CrossAttention
from search_space.sublayer.feed_forward import FeedForward
from search_space.sublayer.gated_linear_unit import GatedLinearUnit
from search_space.sublayer.operation_chain import operation_chain
from search_space.sublayer.parallel import ParallelSublayers
from search_space.sublayer.recurrent import Recurrent
from search_space.sublayer.sublayer import InvalidSetting, Setting, SublayerDeclaration, refuse_unknown, whole_number

Sharing = Literal["none", "attention", "feed_forward", "all"]
"""The sublayers that share one set of parameters with their norms: of no kind, of one kind, or each kind its own."""


@dataclass(frozen=True)
class StackSizes:
    """The sizes that sublayers have where the program sets no others."""

    width: int
    heads: int
    """Before the bottleneck."""
    bottleneck_ratio: int
    key_width: int | None
    value_width: int | None
    convolution: Convolution
    visibility: Visibility
    feed_forward_width: int
    feed_forward_groups: int
    feed_forward_activation: Activation
    position: Position
    attention_biases: bool
    memory: int
    source_width: int | None = None
    """Channels of what cross-attention reads; None for a stack that reads no other."""


Block = tuple[SublayerDeclaration, ...]


def blocks(program: LayerProgram, sizes: StackSizes) -> tuple[Block, ...]:
    """Return the blocks of a program. Raises InvalidSetting or InvalidChain."""
    return tuple(tuple(_declaration(item, sizes) for item in block) for block in program.blocks)


def shared_kinds(sharing: Sharing, made: Iterable[Block]) -> frozenset[str]:
    """Return the kinds whose sublayers share their parameters."""
    kinds = frozenset(sublayer.kind for block in made for sublayer in block)
    return {
        "none": frozenset[str](),
        "attention": kinds & {SelfAttention.kind, CrossAttention.kind},
        "feed_forward": kinds & {FeedForward.kind},
        "all": kinds,
    }[sharing]


def unequal_kinds(sharing: Sharing, made: Iterable[Block]) -> list[str]:
    """Return the kinds that cannot share their parameters, because their sublayers have different sizes."""
    made = list(made)
    return [
        kind
        for kind in sorted(shared_kinds(sharing, made))
        if len({sublayer for block in made for sublayer in block if sublayer.kind == kind}) > 1
    ]


def components(made: Iterable[Block], sharing: Sharing, length: int) -> tuple[Component, ...]:
    """Return the components of the blocks, equal blocks together, in the order of their first appearance."""
    made = list(made)
    shared, counted = shared_kinds(sharing, made), set[str]()
    found: list[Component] = []
    for block in dict.fromkeys(made):
        copies = made.count(block)
        norms = Operations()
        norm_parameters = 0
        for sublayer in block:
            distinct = copies if sublayer.kind not in shared else int(sublayer.kind not in counted)
            counted |= {sublayer.kind} & shared
            found += [replace(part, copies=copies, distinct=distinct) for part in sublayer.components(length)]
            norms += Operations(normalised=sublayer.width)
            norm_parameters += distinct * layer_norm_parameters(sublayer.width)
        found.append(_normalisations(block, copies, norms, norm_parameters))
    return tuple(found)


def _normalisations(block: Block, copies: int, norms: Operations, parameters: int) -> Component:
    """Return the norms of equal blocks as one component; `parameters` are those of all copies."""
    width = block[0].width
    saved = len(block) * (width + NORMALISATION_STATISTICS)
    once = sum(layer_norm_parameters(sublayer.width) for sublayer in block)
    shape = AttentionShape(width, 0, 0)
    if parameters != copies * once:  # shared, at least in part: counted whole, once
        return Component(Role.NORMALISATIONS, shape, parameters, norms, saved, copies, distinct=1)
    return Component(Role.NORMALISATIONS, shape, once, norms, saved, copies)


def _declaration(item: Item, sizes: StackSizes) -> SublayerDeclaration:
    if isinstance(item, Chain):
        return operation_chain(item, sizes.width, sizes.visibility)
    if isinstance(item, Parallel):
        first, second = (_declaration(branch, sizes) for branch in item.branches)
        return ParallelSublayers(sizes.width, first, second)
    return MAKERS[item.kind](item, sizes)


def _self_attention(item: Sublayer, sizes: StackSizes) -> SelfAttention:
    settings = _settings(item, ("heads", "key_width", "value_width"))
    heads, key_width, value_width = _head_sizes(settings, sizes)
    if heads % sizes.bottleneck_ratio:
        raise InvalidSetting(f"heads={heads} is no multiple of the bottleneck ratio {sizes.bottleneck_ratio}")
    heads //= sizes.bottleneck_ratio
    return SelfAttention(
        sizes.width,
        heads,
        key_width,
        value_width,
        sizes.convolution,
        sizes.visibility,
        sizes.position if sizes.position.in_attention else None,
        sizes.attention_biases,
        sizes.memory,
    )


def _feed_forward(item: Sublayer, sizes: StackSizes) -> FeedForward:
    settings = _settings(item, ("width", "groups", "activation", "middle_norm"))
    activation = settings.get("activation", sizes.feed_forward_activation)
    if activation not in get_args(Activation):
        raise InvalidSetting(f"activation={activation} is unknown; allowed: {', '.join(get_args(Activation))}")
    middle_norm = settings.get("middle_norm", 0)
    if middle_norm not in (0, 1):
        raise InvalidSetting(f"middle_norm={middle_norm} is neither 0 nor 1")
    return FeedForward(
        width=sizes.width,
        inner_width=whole_number(settings, "width", sizes.feed_forward_width),
        groups=whole_number(settings, "groups", sizes.feed_forward_groups),
        activation=activation,  # type: ignore[arg-type]
        middle_norm=bool(middle_norm),
    )


def _gated_linear_unit(item: Sublayer, sizes: StackSizes) -> GatedLinearUnit:
    _settings(item, ())
    return GatedLinearUnit(sizes.width)


def _recurrent(item: Sublayer, sizes: StackSizes) -> Recurrent:
    settings = _settings(item, ("hidden_width",))
    return Recurrent(sizes.width, whole_number(settings, "hidden_width", sizes.width), sizes.visibility)


def _cross_attention(item: Sublayer, sizes: StackSizes) -> CrossAttention:
    if sizes.source_width is None:
        raise InvalidSetting("c is cross-attention, which only a decoder has; an encoder has s, f, g and r")
    settings = _settings(item, ("heads", "key_width", "value_width"))
    heads, key_width, value_width = _head_sizes(settings, sizes)
    return CrossAttention(sizes.width, heads, key_width, value_width, sizes.source_width, sizes.attention_biases)


def _head_sizes(settings: Mapping[str, Setting], sizes: StackSizes) -> tuple[int, int, int]:
    """Return heads, and the widths of a key and of a value. Raises InvalidSetting."""
    heads = whole_number(settings, "heads", sizes.heads)
    key_width = whole_number(settings, "key_width", sizes.key_width or sizes.width // heads or 1)
    value_width = whole_number(settings, "value_width", sizes.value_width or sizes.width // heads or 1)
    if (sizes.key_width is None and "key_width" not in settings) and sizes.width % heads:
        raise InvalidSetting(f"heads={heads} does not divide the width {sizes.width}; set key_width, or other heads")
    return heads, key_width, value_width


MAKERS: Mapping[SublayerKind, Callable[[Sublayer, StackSizes], SublayerDeclaration]] = {
    SublayerKind.SELF_ATTENTION: _self_attention,
    SublayerKind.CROSS_ATTENTION: _cross_attention,
    SublayerKind.FEED_FORWARD: _feed_forward,
    SublayerKind.GATED_LINEAR_UNIT: _gated_linear_unit,
    SublayerKind.RECURRENT: _recurrent,
}
"""By letter of the program."""


def _settings(item: Sublayer, known: tuple[str, ...]) -> dict[str, Setting]:
    settings = dict(item.settings)
    refuse_unknown(item.kind.value, settings, known)
    return settings


def sublayer_mistakes(made: Iterable[Block]) -> Iterator[str]:
    """Yield every rule that the sublayers break, each once."""
    yield from dict.fromkeys(mistake for block in made for sublayer in block for mistake in sublayer.mistakes())
