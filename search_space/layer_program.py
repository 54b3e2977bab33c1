"""Layer programs as values: the sublayers of a stack in order, and their texts. `program_parser.py` reads a text.

One axis thus has depth, interleaving, Sandwich Transformers (Press et al. 2020, 1911.03864), recurrent baselines
and the cells of the Evolved Transformer (So et al. 2019, arXiv 1901.11117). The canonical text is expanded: `(s f)*2`
and `s f s f` are one program.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import gcd
from typing import Protocol

from search_space.bottleneck import fitted, kept_heads, refusal
from search_space.shape import largest_divisor

Setting = int | float | str


class SublayerKind(StrEnum):
    """The letters of the sublayers that rules refer to; `search_space/sublayer/` has all."""

    SELF_ATTENTION = "s"
    CROSS_ATTENTION = "c"
    FEED_FORWARD = "f"
    GATED_LINEAR_UNIT = "g"
    RECURRENT = "r"


class OperationKind(StrEnum):
    """What one operation of a chain computes."""

    LINEAR = "lin"
    CONVOLUTION = "conv"
    SEPARABLE = "sep"
    NORM = "ln"


@dataclass(frozen=True)
class Sublayer:
    """One sublayer, with what is set differently from the axes of the stack."""

    kind: str
    """The letter of what it computes."""
    settings: tuple[tuple[str, Setting], ...] = ()
    """By name, sorted."""

    def __str__(self) -> str:
        """Return the canonical text."""
        written = ",".join(f"{name}={value}" for name, value in self.settings)
        return f"{self.kind}({written})" if written else self.kind


@dataclass(frozen=True)
class Operation:
    """One operation of a chain."""

    kind: OperationKind
    kernel_size: int | None = None
    """Positions; None where nothing is convolved."""
    width: Fraction | None = None
    """Channels of the output as a multiple of the model's width; None for a norm."""
    activation: str | None = None

    def __str__(self) -> str:
        """Return the canonical text."""
        width = None if self.width is None else _decimal(self.width)
        fields = (self.kind, self.kernel_size, width, self.activation)
        return ":".join(str(field) for field in fields if field is not None)


@dataclass(frozen=True)
class ParallelOperations:
    """Two operations on the same input, added; the narrower output is padded with zeros."""

    branches: tuple[Operation, Operation]

    def __str__(self) -> str:
        """Return the canonical text."""
        return f"[{self.branches[0]}|{self.branches[1]}]"


@dataclass(frozen=True)
class Chain:
    """Operations one after the other inside one residual."""

    operations: tuple[Operation | ParallelOperations, ...]

    def __str__(self) -> str:
        """Return the canonical text."""
        return f"<{' '.join(map(str, self.operations))}>"


Branch = Sublayer | Chain


@dataclass(frozen=True)
class Parallel:
    """Two sublayers or chains on the same input, added under one residual."""

    branches: tuple[Branch, Branch]

    def __str__(self) -> str:
        """Return the canonical text."""
        return f"[{self.branches[0]}|{self.branches[1]}]"


Item = Sublayer | Parallel | Chain


class ShrunkSizes(Protocol):
    """Sizes of a smaller stack, for sublayers that have none of their own."""

    @property
    def width(self) -> int:
        """Channels of the residual stream."""

    @property
    def heads(self) -> int:
        """Heads of attention."""

    @property
    def bottleneck_ratio(self) -> int | float | str:
        """γ."""

    @property
    def key_width(self) -> int | None:
        """Channels of a key per head; None where the heads divide the width."""

    @property
    def feed_forward_width(self) -> int:
        """Inner channels of the feed-forward networks."""

    @property
    def feed_forward_groups(self) -> int:
        """Groups of their maps."""


def _shrunk(sublayer: Sublayer, ratio: int, stack: ShrunkSizes) -> Sublayer:
    shrinking = ("heads", "width", "hidden_width")
    settings = {
        name: max(1, value // ratio) if name in shrinking and isinstance(value, int) else value
        for name, value in sublayer.settings
    }
    own_heads, attention = settings.get("heads"), (SublayerKind.SELF_ATTENTION, SublayerKind.CROSS_ATTENTION)
    if sublayer.kind in attention and isinstance(own_heads, int) and stack.key_width is None:
        settings |= {} if "key_width" in settings else {"heads": largest_divisor(stack.width, own_heads)}
    if sublayer.kind == SublayerKind.FEED_FORWARD:
        settings |= _grouped(settings, stack)
    heads = settings.get("heads", stack.heads)
    bottleneck, stored = settings.get("bottleneck_ratio", stack.bottleneck_ratio), settings.get("key_value_heads")
    if sublayer.kind == SublayerKind.SELF_ATTENTION and isinstance(heads, int) and refusal(heads, bottleneck):
        settings["bottleneck_ratio"] = fitted(heads, bottleneck)
    if isinstance(stored, int) and isinstance(heads, int):
        kept = int(kept_heads(heads, settings.get("bottleneck_ratio", 1)))
        settings["key_value_heads"] = largest_divisor(kept, max(1, stored // ratio))
    return replace(sublayer, settings=tuple(sorted(settings.items())))


def _grouped(settings: Mapping[str, Setting], stack: ShrunkSizes) -> dict[str, Setting]:
    """Return the groups and the inner width of a feed-forward network's own that fit each other and the stack."""
    found: dict[str, Setting] = {}
    groups, inner = settings.get("groups", stack.feed_forward_groups), settings.get("width")
    if not isinstance(groups, int):
        return found
    if "groups" in settings:
        outer = gcd(stack.width, stack.feed_forward_width) if inner is None else stack.width
        found["groups"] = groups = largest_divisor(outer, groups)
    if isinstance(inner, int):
        found["width"] = groups * max(1, inner // groups)
    return found


@dataclass(frozen=True)
class LayerProgram:
    """The items of a stack, from the input to the output."""

    items: tuple[Item, ...]

    def __str__(self) -> str:
        """Return the canonical text: expanded, with single spaces."""
        return " ".join(map(str, self.items))

    @property
    def blocks(self) -> tuple[tuple[Item, ...], ...]:
        """The items in blocks: self-attention with what follows it right away, any other item alone.

        In a block, cross-attention follows self-attention, and the feed-forward network either of them.
        """
        grouped: list[tuple[Item, ...]] = []
        for item in self.items:
            if grouped and _continues(grouped[-1], item):
                grouped[-1] = (*grouped[-1], item)
            else:
                grouped.append((item,))
        return tuple(grouped)

    def shrunk(self, ratio: int, stack: ShrunkSizes) -> "LayerProgram":
        """Return the program with its own heads and inner widths divided by `ratio`, from 1; so in branches.

        Heads and groups are the largest below that divide the widths of the smaller stack. A bottleneck ratio of its
        own is the largest that its heads, or else those of the stack, allow.
        """

        def smaller(item: Branch) -> Branch:
            return _shrunk(item, ratio, stack) if isinstance(item, Sublayer) else item

        def of_item(item: Item) -> Item:
            if not isinstance(item, Parallel):
                return smaller(item)
            first, second = item.branches
            return Parallel((smaller(first), smaller(second)))

        return LayerProgram(tuple(map(of_item, self.items)))

    def sublayers(self) -> Iterator[Sublayer]:
        """Yield the sublayers in order, those of parallel branches one after the other."""
        for item in self.items:
            if isinstance(item, Sublayer):
                yield item
            elif isinstance(item, Parallel):
                yield from (branch for branch in item.branches if isinstance(branch, Sublayer))

    def count(self, kind: str) -> int:
        """Return the number of sublayers of a kind."""
        return sum(sublayer.kind == kind for sublayer in self.sublayers())


def is_of(item: Item, kind: str) -> bool:
    """Return whether an item is one sublayer of a kind."""
    return isinstance(item, Sublayer) and item.kind == kind


def _continues(block: tuple[Item, ...], item: Item) -> bool:
    """Return whether an item belongs to the block before it: s f, s c or s c f."""
    attention = (SublayerKind.SELF_ATTENTION, SublayerKind.CROSS_ATTENTION)
    starts = len(block) <= 2 and all(is_of(each, kind) for each, kind in zip(block, attention, strict=False))
    alone = len(block) == 1
    return starts and (is_of(item, SublayerKind.FEED_FORWARD) or (alone and is_of(item, attention[1])))


def compact(program: LayerProgram) -> str:
    """Return a short text of the program for tables, with repeated groups as counts: `s*3 (s f)*5 f*3`."""
    texts = [str(item) for item in program.items]
    parts: list[str] = []
    while texts:
        length, count = max(_repeated(texts), key=lambda found: (found[0] * found[1], -found[0]))
        unit = " ".join(texts[:length])
        grouped = f"({unit})" if length > 1 or not isinstance(program.items[-len(texts)], Sublayer) else unit
        parts.append(unit if count == 1 else f"{grouped}*{count}")
        texts = texts[length * count :]
    return " ".join(parts)


GROUP_AT_MOST = 8
"""Items of a group that `compact` looks for."""


def _repeated(texts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the lengths of leading groups with how often each follows itself; a single item once at least."""
    for length in range(1, min(GROUP_AT_MOST, len(texts)) + 1):
        count = 1
        while texts[count * length : (count + 1) * length] == texts[:length]:
            count += 1
        if count > 1 or length == 1:
            yield length, count


def _decimal(width: Fraction) -> str:
    return str(width.numerator) if width.denominator == 1 else f"{float(width):g}"
