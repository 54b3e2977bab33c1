"""Drawing: balanced groups of examples, found module by module, become a train and a dev set that share no module."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from foundation.errors import DataError
from tasks.corpora.document import Document
from tasks.labelled.task import Example, Examples

Item = TypeVar("Item")

Group = tuple[Example, ...]
"""Examples that balance one another (each text as often right as wrong) and are taken together or not at all."""

MOST_GROUPS_PER_MODULE = 25  # no module may speak for the whole language


def by_module(documents: Iterable[Document]) -> dict[str, list[Document]]:
    """Return the documents of each source, in their order."""
    ordered = sorted(documents, key=lambda document: document.source)
    return {source: list(found) for source, found in groupby(ordered, key=lambda document: document.source)}


def draw(task: str, groups: Mapping[str, Sequence[Group]], train_count: int, dev_count: int) -> Examples:
    """Return train and dev examples from the groups of each module, at most 25 groups of each.

    Modules come in the order of a hash of their names, first for dev, then for train, in proportion to the counts;
    a set takes a group of every module before it takes a second of any. It is cut at the last whole group, so it
    may fall short of its count by less than one group. Raises DataError, with the figures, where there are not
    enough.
    """
    modules = sorted(groups, key=lambda module: hashlib.sha256(f"{task}:{module}".encode()).digest())
    kept = [groups[module][:MOST_GROUPS_PER_MODULE] for module in modules]
    total = sum(map(_size, kept))
    largest = max((len(group) for module in kept for group in module), default=1)
    examples = Examples((), ())
    for dev_share in (total * dev_count / (train_count + dev_count), dev_count):  # fairly, else as few as will do
        boundary = _modules_holding(kept, dev_share)
        examples = Examples(_round_robin(kept[boundary:], train_count), _round_robin(kept[:boundary], dev_count))
        if _is_full(examples.train, train_count, largest) and _is_full(examples.dev, dev_count, largest):
            return examples
    raise DataError(
        f"{task}: the corpus's test split gives {len(examples.train)} train and {len(examples.dev)} dev examples "
        f"({total} from {sum(map(bool, kept))} modules), {train_count} and {dev_count} were asked for; "
        "ask for fewer or take a larger corpus"
    )


def _is_full(examples: tuple[Example, ...], count: int, largest_group: int) -> bool:
    return bool(examples) and len(examples) + largest_group > count


def _size(module: Sequence[Group]) -> int:
    return sum(map(len, module))


def _modules_holding(kept: list[Sequence[Group]], count: float) -> int:
    """Return how many modules, from the first, hold at least so many examples."""
    held = 0
    for index, module in enumerate(kept):
        if held >= count:
            return index
        held += _size(module)
    return len(kept)


def _round_robin(kept: list[Sequence[Group]], count: int) -> tuple[Example, ...]:
    examples: list[Example] = []
    for turn in range(MOST_GROUPS_PER_MODULE):
        for module in kept:
            if turn < len(module):
                if len(examples) + len(module[turn]) > count:
                    return tuple(examples)
                examples += module[turn]
    return tuple(examples)


def in_hashed_order(items: Iterable[Item], key: Callable[[Item], str]) -> list[Item]:
    """Return the items in the order of a hash of their keys: as good as random, and the same everywhere."""
    return sorted(items, key=lambda item: hashlib.sha256(key(item).encode()).digest())
