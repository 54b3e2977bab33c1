"""Tagging schemes of entities: IOB1 to IOB2. Tjong Kim Sang and Veenstra 1999, cs/9907006.

In IOB1, B begins an entity only directly after another entity of its type; all other entities begin with I. In IOB2,
every entity begins with B. A B begins an entity in both, and so does an I after another type or after no entity, so
that files that mix the two, as the official CoNLL-2003 files do in a few words, have one reading.
"""

from collections.abc import Sequence

BEGIN, INSIDE = "B-", "I-"


def to_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of one sentence in IOB2; tags in IOB2 are unchanged."""
    types = ["", *(tag.partition("-")[2] for tag in tags)]
    return tuple(
        f"{BEGIN}{tag.removeprefix(INSIDE)}" if tag.startswith(INSIDE) and types[word] != types[word + 1] else tag
        for word, tag in enumerate(tags)
    )
