"""One block of a cell: two branches and what follows them, as genes and as an item of a layer program.

A block whose branches are all operations is a chain, in which an operation may follow their sum; other branches stand
in parallel, each at the model's width. A branch that is wider than the model ends with a linear map to its width.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from search_space.architecture import Architecture
from search_space.layer_program import (
    Branch,
    Chain,
    Item,
    Operation,
    OperationKind,
    Parallel,
    ParallelOperations,
    Setting,
    Sublayer,
    SublayerKind,
)
from search_space.structure.option import Choose, noted

NOTHING = "none"
SUBLAYERS = ("s", "c", "g", "f")
CONVOLVED = (OperationKind.CONVOLUTION, OperationKind.SEPARABLE)
NORM = Operation(OperationKind.NORM)
TO_WIDTH = Operation(OperationKind.LINEAR, width=Fraction(1))


def layer_mistake(layer: str) -> str | None:
    """Return why a text is no layer of a branch, None if it is one."""
    kind, _, kernel = layer.partition(":")
    convolved = kind in tuple(map(str, CONVOLVED))
    if (layer in SUBLAYERS or layer == OperationKind.LINEAR) and not kernel:
        return None
    if convolved and kernel.isascii() and kernel.isdigit() and int(kernel[:6]) % 2:
        return None
    reason = "needs an odd kernel size, such as sep:7" if convolved else "is no layer"
    return f"{layer!r} {reason}; allowed: {', '.join(SUBLAYERS)}, lin, conv:3, sep:7"


def coding_of(
    baseline: Architecture,
    layers: tuple[str, ...],
    heads: tuple[int, ...],
    widths: tuple[float, ...],
    activations: tuple[str, ...],
) -> "BlockCoding":
    """Return the coding of blocks over the sizes of a baseline."""
    values = tuple(sorted({Fraction(str(width)) for width in widths}))
    heads = tuple(sorted({*heads})) or (baseline.heads,)
    return BlockCoding(baseline, layers, tuple(map(str, heads)), tuple(map(_text, values)), activations)


@dataclass(frozen=True)
class BlockCoding:
    """The values that the genes of a block may have."""

    baseline: Architecture
    layers: tuple[str, ...]
    heads: tuple[str, ...]
    widths: tuple[str, ...]
    activations: tuple[str, ...]

    @property
    def operations(self) -> tuple[str, ...]:
        """The layers of which chains are made."""
        return tuple(layer for layer in self.layers if layer not in SUBLAYERS)

    @property
    def then_widths(self) -> tuple[str, ...]:
        """The widths at which a chain can end."""
        return tuple(width for width in self.widths if Fraction(width) <= 1)

    @cached_property
    def genes(self) -> Mapping[str, tuple[str, ...]]:
        """The genes of a block; few of them have an effect at once."""
        branch = {
            "heads": self.heads,
            "width": self.widths,
            "activation": self.activations,
            "operation_activation": (NOTHING, *self.activations),
            "middle_norm": ("0", "1"),
        }
        operations = self.operations
        then = {"then": (NOTHING, *operations), "then.norm": ("0", "1"), "then.width": self.then_widths}
        return {
            "left": self.layers,
            **{f"left.{name}": values for name, values in branch.items()},
            "right": (NOTHING, *self.layers),
            **{f"right.{name}": values for name, values in branch.items()},
            **(then if operations else {}),
        }

    def item(self, choose: Choose) -> Item:
        """Return the block that the genes give."""
        genes = self.genes
        layers = [choose(side, genes[side]) for side in ("left", "right")]
        sides = [side for side, layer in zip(("left", "right"), layers, strict=True) if layer != NOTHING]
        present = [layer for layer in layers if layer != NOTHING]
        made = [self._part(side, layer, choose) for side, layer in zip(sides, present, strict=True)]
        made = [part for _, part in sorted(zip(present, made, strict=True), key=lambda pair: self._order(*pair))]
        operations = [part for part in made if isinstance(part, Operation)]
        if len(operations) == len(made):
            return self._chain(operations, choose)
        branches: list[Branch] = [
            Chain((part, *_narrowed(part))) if isinstance(part, Operation) else part for part in made
        ]
        return branches[0] if len(branches) == 1 else Parallel((branches[0], branches[1]))

    def genes_of(self, item: Item) -> dict[str, str] | None:
        """Return genes that give an item, None if no block is that item."""
        found = self._read(item)
        values = self.genes
        if found is None or any(value not in values[gene] for gene, value in found.items()):
            return None
        asked = dict[str, str]()
        full = {gene: each[0] for gene, each in values.items()} | found
        return asked if self._same(self.item(noted(full, asked)), item) else None

    def _order(self, layer: str, part: Sublayer | Operation) -> tuple[int, str]:
        """Return the place of a branch: the sum is the same in either order, and so is the program."""
        return self.layers.index(layer), str(part)

    def _part(self, side: str, layer: str, choose: Choose) -> Sublayer | Operation:
        def gene(name: str) -> str:
            return choose(f"{side}.{name}", self.genes[f"{side}.{name}"])

        if layer in SUBLAYERS:
            return Sublayer(layer, tuple(sorted(self._settings(layer, gene).items())))
        kind, _, kernel = layer.partition(":")
        width, activation = Fraction(gene("width")), gene("operation_activation")
        taps = int(kernel) if kernel else None
        return Operation(OperationKind(kind), taps, width, None if activation == NOTHING else activation)

    def _settings(self, layer: str, gene: Callable[[str], str]) -> dict[str, Setting]:
        """Return what a sublayer sets differently from the baseline."""
        if layer in ("s", "c"):
            heads = int(gene("heads"))
            return {} if heads == self.baseline.heads else {"heads": heads}
        if layer != "f":
            return {}
        found: dict[str, Setting] = {}
        width, activation = int(Fraction(gene("width")) * self.baseline.width), gene("activation")
        if width != self.baseline.feed_forward_width:
            found["width"] = width
        if activation != self.baseline.feed_forward_activation:
            found["activation"] = activation
        if gene("middle_norm") == "1":
            found["middle_norm"] = 1
        return found

    def _chain(self, operations: list[Operation], choose: Choose) -> Chain:
        genes = self.genes
        first = operations[0] if len(operations) == 1 else ParallelOperations((operations[0], operations[1]))
        then = choose("then", genes["then"])
        if then == NOTHING:
            return Chain((first, *_narrowed(*operations)))
        kind, _, kernel = then.partition(":")
        norm = (NORM,) if choose("then.norm", genes["then.norm"]) == "1" else ()
        width = Fraction(choose("then.width", genes["then.width"]))
        return Chain((first, *norm, Operation(OperationKind(kind), int(kernel) if kernel else None, width)))

    def _read(self, item: Item) -> dict[str, str] | None:
        """Return the genes of an item as far as they can be read; they may not give the item."""
        if isinstance(item, Chain):
            first, *rest = item.operations
            parts: tuple[Branch | Operation, ...] = (
                first.branches if isinstance(first, ParallelOperations) else (first,)
            )
            found = {"then": NOTHING}
            last = rest[-1] if rest else None
            if isinstance(last, Operation) and rest != [
                *_narrowed(*(op for op in parts if isinstance(op, Operation)))
            ]:
                found = {"then": _layer(last), "then.width": _text(last.width or Fraction(1))}
                found["then.norm"] = str(int(len(rest) == 2))
        else:
            found, parts = {}, item.branches if isinstance(item, Parallel) else (item,)
        if len(parts) == 1:
            found["right"] = NOTHING
        for side, part in zip(("left", "right"), parts, strict=False):
            found |= {f"{side}{name}": value for name, value in self._read_part(part).items()}
        return found

    def _read_part(self, part: Branch | Operation) -> dict[str, str]:
        if isinstance(part, Chain):
            first = part.operations[0]
            return self._read_part(first) if isinstance(first, Operation) else {"": NOTHING}
        if isinstance(part, Operation):
            width, activation = _text(part.width or Fraction(1)), part.activation or NOTHING
            return {"": _layer(part), ".width": width, ".operation_activation": activation}
        settings, baseline = dict(part.settings), self.baseline
        found = {"": part.kind}
        if part.kind in (SublayerKind.SELF_ATTENTION, SublayerKind.CROSS_ATTENTION):
            found[".heads"] = str(settings.get("heads", baseline.heads))
        if part.kind == SublayerKind.FEED_FORWARD:
            inner = settings.get("width", baseline.feed_forward_width)
            found[".width"] = _text(Fraction(int(inner), baseline.width))
            found[".activation"] = str(settings.get("activation", baseline.feed_forward_activation))
            found[".middle_norm"] = str(settings.get("middle_norm", 0))
        return found

    @staticmethod
    def _same(made: Item, item: Item) -> bool:
        """Return whether two items are equal up to the order of their branches."""
        return _unordered(made) == _unordered(item)


def _narrowed(*parts: Operation) -> tuple[Operation, ...]:
    """Return the map to the model's width that follows operations of which one is wider."""
    return (TO_WIDTH,) if any((part.width or 1) > 1 for part in parts) else ()


def _layer(operation: Operation) -> str:
    return operation.kind.value if operation.kernel_size is None else f"{operation.kind}:{operation.kernel_size}"


def _text(width: Fraction) -> str:
    return str(width.numerator) if width.denominator == 1 else f"{float(width):g}"


def _unordered(item: object) -> object:
    if isinstance(item, Parallel | ParallelOperations):
        return frozenset(map(_unordered, item.branches))
    if isinstance(item, Chain):
        return tuple(map(_unordered, item.operations))
    return item
