"""Sizes of every layer on its own, in the baseline's order. SchuBERT: Khetan and Karnin 2020, arXiv 2005.06628."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from search_space.architecture import Architecture
from search_space.layer_lists import LISTS
from search_space.layer_program import Item, LayerProgram, Sublayer, SublayerKind, is_of
from search_space.structure.option import Choose, Genome, StackName, StructureOption, chosen_from, program_of
from steeplechase.foundation.schema import Count, JsonValue

Sizes = tuple[Count, ...]


class LayerSizes(StructureOption):
    """The sizes that each self-attention and each feed-forward network may have; an empty list varies nothing."""

    kind: Literal["layer_sizes"] = "layer_sizes"
    """Chooses sizes of every layer on its own."""
    heads: Sizes = ()
    """Heads of a self-attention."""
    key_width: Sizes = ()
    """Channels of a query and of a key, per head."""
    value_width: Sizes = ()
    """Channels of a value, per head."""
    feed_forward_width: Sizes = ()
    """Inner channels of a feed-forward network."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({"heads": [2, 4], "feed_forward_width": [64, 128]},)
    owned_sizes: ClassVar[tuple[str, ...]] = ("heads", "key_width", "value_width", "feed_forward_width", "width")

    def genes(self, baseline: Architecture, stack: StackName) -> Mapping[str, tuple[str, ...]]:
        """Return a gene per sublayer and size."""
        items = program_of(baseline, stack).items
        return {
            f"{place}.{name}": tuple(map(str, self._sizes(name)))
            for place, item in enumerate(items, start=1)
            for name in self._varied(item)
        }

    def program(self, baseline: Architecture, stack: StackName, choose: Choose) -> LayerProgram:
        """Return the baseline's program with the chosen sizes; those of the baseline itself are not written."""
        genes = self.genes(baseline, stack)

        def sized(place: int, item: Item) -> Item:
            settings = dict(item.settings) if isinstance(item, Sublayer) else {}
            for name in self._varied(item):
                gene = f"{place}.{name}"
                settings[LISTS[name][1]] = int(choose(gene, genes[gene]))
                if settings[LISTS[name][1]] == getattr(baseline, name):
                    del settings[LISTS[name][1]]
            return replace(item, settings=tuple(sorted(settings.items()))) if isinstance(item, Sublayer) else item

        items = program_of(baseline, stack).items
        return LayerProgram(tuple(sized(place, item) for place, item in enumerate(items, start=1)))

    def genome(self, architecture: Architecture, stack: StackName) -> Genome | None:
        """Return the sizes of the architecture's layers."""
        program, genes = program_of(architecture, stack), self.genes(architecture, stack)
        found = {
            f"{place}.{name}": str(dict(item.settings).get(LISTS[name][1], getattr(architecture, name)))
            for place, item in enumerate(program.items, start=1)
            if isinstance(item, Sublayer)
            for name in self._varied(item)
        }
        if any(found[gene] not in values for gene, values in genes.items()):
            return None
        return found if self.program(architecture, stack, chosen_from(found)) == program else None

    def mistakes(self, baseline: Architecture, stack: StackName) -> Iterator[str]:
        """Yield sizes that nothing has, and heads that do not divide the width."""
        items = program_of(baseline, stack).items
        named = [name for name in LISTS if self._sizes(name)]
        if not named:
            yield f"no sizes to choose from; list those of {', '.join(LISTS)}"
        for name in named:
            if not any(is_of(item, LISTS[name][0]) for item in items):
                yield f"{name}: the baseline has no sublayer {LISTS[name][0].value}"
        for heads in self.heads if baseline.key_width is None and not self.key_width else ():
            if baseline.width % heads:
                yield f"heads {heads} does not divide the width {baseline.width}; list key_width too"

    def _sizes(self, name: str) -> Sizes:
        sizes: Sizes = getattr(self, name)
        return sizes

    def _varied(self, item: Item) -> tuple[str, ...]:
        """Return the fields that vary on a sublayer."""
        kinds: Mapping[str, SublayerKind] = {name: kind for name, (kind, _) in LISTS.items()}
        return tuple(name for name, kind in kinds.items() if self._sizes(name) and is_of(item, kind))
