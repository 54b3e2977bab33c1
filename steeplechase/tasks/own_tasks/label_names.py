"""Names of labels: those that a task does not have, and those that look like others."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from steeplechase.foundation.errors import did_you_mean
from steeplechase.tasks.own_tasks.columns import Column, named
from steeplechase.tasks.own_tasks.parsing import ParsedFile

SHOWN_LABELS = 12
NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?")


def unknown_labels(file: ParsedFile, labels: Sequence[str], column: Column, origin: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the message of every label that is not among `labels`, each label of a row once."""
    known = frozenset(labels)
    allowed = ", ".join(labels[:SHOWN_LABELS]) + (", …" if len(labels) > SHOWN_LABELS else "")
    for row in file.rows:
        for label in dict.fromkeys(row.labels):
            if label not in known:
                hint = _written_otherwise(label, labels) or did_you_mean(label, labels)
                yield row.line, f"{named(column)}: {label!r} is not a label {origin}: {allowed}.{hint}"


def _written_otherwise(label: str, labels: Iterable[str]) -> str:
    """Return both spellings where a label that is not of ASCII alone looks like a known one, else nothing."""
    alike = [known for known in labels if _appearance(known) == _appearance(label)]
    if not alike or (label.isascii() and alike[0].isascii()):
        return ""
    return f" Here it is {label!a}, there {alike[0]!a}: other characters that look the same."


def alike(labels: Iterable[str]) -> list[list[str]]:
    """Return groups of labels that are equal as numbers, or without case, Unicode form and invisible characters."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(_appearance(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def _appearance(label: str) -> str:
    visible = (each for each in unicodedata.normalize("NFKC", label) if unicodedata.category(each) != "Cf")
    text = "".join(visible).casefold().strip()
    return str(float(text)) if NUMBER.fullmatch(text) else text  # 1 and 1.0
