"""What attention's reading of other tokens needs: positions in its scores, a memory, a query stream.

A memory of earlier segments (Transformer-XL, arXiv 1901.02860) and a query stream (XLNet, arXiv 1906.08237, section
2.3) need that attention alone reads other tokens.
"""

from collections.abc import Iterable, Iterator

from search_space.layer_program import Item, Sublayer, SublayerKind
from search_space.normalisation.option import NormalisationOption
from search_space.stack import Block, self_attentions
from search_space.sublayer import sublayers_by_letter
from search_space.sublayer.attention import SelfAttention
from search_space.sublayer.sublayer import StackSizes
from steeplechase.foundation.errors import Violation

WITH_MEMORY = ("left_to_right", "bidirectional", "permutation")


def reading_violations(
    sizes: StackSizes, items: tuple[Item, ...], normalisation: NormalisationOption, made: Iterable[Block]
) -> Iterator[Violation]:
    """Yield every rule that the reading of other tokens breaks in a stack of these sizes, items and blocks."""
    attentions = [*self_attentions(made)]
    for mistake in dict.fromkeys(_position_mistakes(attentions)):
        yield Violation(("position",), mistake)
    own = any("key_value_heads" in dict(item.settings) for item in items if isinstance(item, Sublayer))
    for mistake in dict.fromkeys(mistake for each in attentions for mistake in each.stored_mistakes()):
        yield Violation(("layers" if own else "key_value_heads",), mistake)
    windowed = any(each.local is not None for each in attentions)
    if windowed and (sizes.visibility == "permutation" or sizes.memory):
        yield Violation(("local",), "a window reads neither a memory nor a drawn order; leave local out")
    for mistake in _memory_mistakes(sizes, items, normalisation):
        yield Violation(("memory",), mistake)
    for mistake in _permutation_mistakes(sizes, items, normalisation):
        yield Violation(("visibility",), mistake)


def _position_mistakes(attentions: Iterable[SelfAttention]) -> Iterator[str]:
    """Yield why the positions do not fit the heads of self-attention."""
    for attention in attentions:
        if attention.position is not None:
            yield from attention.position.score_mistakes(attention.key_width)


def _memory_mistakes(sizes: StackSizes, items: Iterable[Item], normalisation: NormalisationOption) -> Iterator[str]:
    """Yield why a stack of these sizes and items cannot read its memory; nothing if it has none."""
    if not sizes.memory:
        return
    if not sizes.position.in_attention:
        need = f"{sizes.memory} tokens of memory need relative positions, not {sizes.position.kind}"
        yield f"{need}. Write position: relative"
    if sizes.visibility not in WITH_MEMORY:
        yield f"a memory is of the text before; visibility is {sizes.visibility}"
    yield from _not_attention_alone("a memory", "reads no memory", sizes, items, normalisation)


def _permutation_mistakes(
    sizes: StackSizes, items: Iterable[Item], normalisation: NormalisationOption
) -> Iterator[str]:
    """Yield why a stack cannot predict tokens in a drawn order; nothing with another visibility."""
    if sizes.visibility != "permutation":
        return
    if not sizes.position.in_attention:
        need = "permutation needs relative positions, by which the query stream knows its place"
        yield f"{need}, not {sizes.position.kind}. Write position: relative"
    yield from _not_attention_alone("permutation", "knows no order of prediction", sizes, items, normalisation)


def _not_attention_alone(
    subject: str, why: str, sizes: StackSizes, items: Iterable[Item], normalisation: NormalisationOption
) -> Iterator[str]:
    if normalisation.kind != "post_norm":
        yield f"{subject} needs post_norm, not {normalisation.kind}"
    if sizes.convolution.kind != "none":
        yield f"the convolution {sizes.convolution.kind} {why}; write none"
    others = [item for item in items if not reads_by_attention_alone(item)]
    if others:
        yield f"{others[0]} {why}; allowed sublayers: s, f and g, without a convolution"


def reads_by_attention_alone(item: Item) -> bool:
    """Return whether an item is self-attention, or a sublayer that reads nothing of other tokens."""
    if not isinstance(item, Sublayer):
        return False
    if item.kind == SublayerKind.SELF_ATTENTION:
        return dict(item.settings).get("convolution", "none") == "none"
    return sublayers_by_letter()[item.kind].positionwise
