"""Samples balanced groups of examples into a train and a dev set that share no module."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.documentation.sentences import sentences
from steeplechase.tasks.labelled.task import Example, Examples

Item = TypeVar("Item")

Group = tuple[Example, ...]
"""Examples that balance one another (each text equally often correct and incorrect); sampled together."""

MOST_GROUPS_PER_MODULE = 25  # so that no module dominates a set


def by_module(documents: Iterable[Document]) -> dict[str, list[Document]]:
    """Return the documents by source, in order."""
    ordered = sorted(documents, key=lambda document: document.source)
    return {source: list(members) for source, members in groupby(ordered, key=lambda document: document.source)}


def sentences_by_module(documents: Iterable[Document]) -> dict[str, list[str]]:
    """Return the sentences of every source in the order of a hash, without those seen before in any case."""
    seen: set[str] = set()
    found = {}
    for module, members in by_module(documents).items():
        texts = dict.fromkeys(text for document in members for text in sentences(document.text))
        distinct = [text for text in texts if text.lower() not in seen]
        seen.update(text.lower() for text in distinct)
        found[module] = in_hashed_order(distinct, str)
    return found


def draw(task: str, groups: Mapping[str, Sequence[Group]], train_count: int, dev_count: int) -> Examples:
    """Return train and dev examples from the groups of each module, at most 25 groups of each.

    Modules come in the order of a hash of their names, first for dev, then for train, in proportion to the counts;
    a set takes one group of every module before a second of any. It contains whole groups only, so it may fall
    short of its count by less than one group. Without a train count everything is for dev. Raises DataError, with the
    numbers, if there are too few.
    """
    modules = sorted(groups, key=lambda module: hashlib.sha256(f"{task}:{module}".encode()).digest())
    kept = [groups[module][:MOST_GROUPS_PER_MODULE] for module in modules]
    total = sum(map(_size, kept))
    largest = max((len(group) for module in kept for group in module), default=1)
    examples = Examples((), ())
    for dev_share in (
        total * dev_count / (train_count + dev_count),
        dev_count,
    ):  # in proportion, else the fewest modules that suffice
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
    return count == 0 or (bool(examples) and len(examples) + largest_group > count)


def _size(module: Sequence[Group]) -> int:
    return sum(map(len, module))


def _modules_holding(kept: list[Sequence[Group]], count: float) -> int:
    """Return how many modules, from the first, contain at least `count` examples."""
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
    """Return the items in the order of a hash of their keys: pseudo-random and deterministic."""
    return sorted(items, key=lambda item: hashlib.sha256(key(item).encode()).digest())
