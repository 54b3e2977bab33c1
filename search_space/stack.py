"""A stack: the blocks of sublayers that a layer program makes of an architecture's sizes, and their costs.

A block is self-attention and the feed-forward network that follows it, or any other sublayer alone; `(s f)*12` thus
has 12 blocks. A block's number and a sublayer's kind name its parameters.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from search_space.convolution import Convolution
from search_space.cost import Component, Operations, Role
from search_space.layer_program import Chain, Item, LayerProgram, Parallel
from search_space.norm import Norm, norm_parameters, saved_by_norm
from search_space.normalisation.option import NormalisationOption
from search_space.shape import AttentionShape
from search_space.sublayer import sublayers_by_letter
from search_space.sublayer.attention import SelfAttention
from search_space.sublayer.cross_attention import CrossAttention
from search_space.sublayer.feed_forward import FeedForward
from search_space.sublayer.operation_chain import operation_chain
from search_space.sublayer.parallel import ParallelSublayers
from search_space.sublayer.sublayer import StackSizes, SublayerDeclaration
from steeplechase.foundation.errors import Violation

Sharing = Literal["none", "attention", "feed_forward", "all"]
"""The sublayers that share one set of parameters with their norms: of no kind, of one kind, or each kind its own."""
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


def shared_violations(sharing: Sharing, norms: NormalisationOption, made: Iterable[Block]) -> Iterator[Violation]:
    """Yield the kinds that cannot share their parameters, because their sublayers or norms differ."""
    made = list(made)
    if sharing != "none" and not norms.has_first_norm:
        yield Violation(
            ("sharing",), f"{sharing} shares the norms too, and the first sublayer has none (first: false)"
        )
    for kind in sorted(shared_kinds(sharing, made)):
        if len({sublayer for block in made for sublayer in block if sublayer.kind == kind}) > 1:
            name = kind.replace("_", " ")
            yield Violation(("sharing",), f"{sharing} shares the {name} sublayers, whose sizes differ in layers")


def components(
    made: Iterable[Block], sharing: Sharing, norms: NormalisationOption, length: int
) -> tuple[Component, ...]:
    """Return the components of the blocks, equal blocks together, in the order of their first appearance."""
    made = list(made)
    shared, counted, norm = shared_kinds(sharing, made), set[str](), norms.norm
    found: list[Component] = []
    for block in dict.fromkeys(made):
        copies = made.count(block)
        normalised, parameters = Operations(), 0
        for sublayer in block:
            distinct = copies if sublayer.kind not in shared else int(sublayer.kind not in counted)
            counted |= {sublayer.kind} & shared
            found += [replace(part, copies=copies, distinct=distinct) for part in sublayer.components(length)]
            normalised += Operations(normalised=sublayer.width)
            parameters += distinct * norm_parameters(norm, sublayer.width)
        found.append(_normalisations(block, copies, norm, normalised, parameters))
    if made and not norms.has_first_norm:  # which was counted with those of the blocks that are equal to the first
        width, shape = made[0][0].width, AttentionShape(made[0][0].width, 0, 0)
        without = Operations(normalised=-width)
        parameters, saved = -norm_parameters(norm, width), -saved_by_norm(norm, width)
        found.append(Component(Role.NORMALISATIONS, shape, parameters, without, saved))
    return tuple(found)


def _normalisations(block: Block, copies: int, norm: Norm, norms: Operations, parameters: int) -> Component:
    """Return the norms of equal blocks as one component; `parameters` are those of all copies."""
    width = block[0].width
    saved = len(block) * saved_by_norm(norm, width)
    once = sum(norm_parameters(norm, sublayer.width) for sublayer in block)
    shape = AttentionShape(width, 0, 0)
    if parameters != copies * once:  # shared, at least in part: counted whole, once
        return Component(Role.NORMALISATIONS, shape, parameters, norms, saved, copies, distinct=1)
    return Component(Role.NORMALISATIONS, shape, once, norms, saved, copies)


def convolutions(made: Iterable[Block]) -> Iterator[Convolution]:
    """Yield the convolution of each self-attention sublayer, those of parallel branches too."""
    yield from (each.convolution for each in self_attentions(made))


def self_attentions(made: Iterable[Block]) -> Iterator[SelfAttention]:
    """Yield each self-attention sublayer, those of parallel branches too."""
    for sublayer in (sublayer for block in made for sublayer in block):
        for each in (sublayer.first, sublayer.second) if isinstance(sublayer, ParallelSublayers) else (sublayer,):
            if isinstance(each, SelfAttention):
                yield each


def _declaration(item: Item, sizes: StackSizes) -> SublayerDeclaration:
    if isinstance(item, Chain):
        return operation_chain(item, sizes)
    if isinstance(item, Parallel):
        first, second = (_declaration(branch, sizes) for branch in item.branches)
        return ParallelSublayers(sizes.width, first, second)
    return sublayers_by_letter()[item.kind].of(dict(item.settings), sizes)


def sublayer_mistakes(made: Iterable[Block]) -> Iterator[str]:
    """Yield every rule that the sublayers break, each once."""
    yield from dict.fromkeys(mistake for block in made for sublayer in block for mistake in sublayer.mistakes())
