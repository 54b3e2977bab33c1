"""Splits one table into train and dev by a hash of the texts, which no label and no order of rows enters."""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256

from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.own_tasks.parsing import ParsedRow

SALT = b"dev share:"  # part of every hash; another value gives another split


def split(rows: Sequence[ParsedRow], dev_share: float) -> dict[str, tuple[ParsedRow, ...]]:
    """Return the rows of train and dev: equal texts are in one part, chosen by a hash of the text alone."""
    hashes = [sha256(SALT + "\0".join(texts_of(row.example)).encode()).digest() for row in rows]
    groups = Counter(hashes)
    wanted, chosen, count = dev_share * len(rows), set[bytes](), 0
    for group in sorted(groups):
        if count >= wanted:
            break
        chosen.add(group)
        count += groups[group]
    return {
        "train": tuple(row for row, key in zip(rows, hashes, strict=True) if key not in chosen),
        "dev": tuple(row for row, key in zip(rows, hashes, strict=True) if key in chosen),
    }


def repeated_in_train(train: Iterable[Example], dev: Iterable[Example]) -> int:
    """Return the number of dev examples whose texts are those of a train example."""
    seen = {texts_of(example) for example in train}
    return sum(texts_of(example) in seen for example in dev)


def texts_of(example: Example) -> tuple[str, ...]:
    """Return what makes two examples equal: their texts, without case and outer spaces."""
    return tuple(text.strip().lower() for text in (example.first, example.second or "", *example.endings))
