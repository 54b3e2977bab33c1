"""Mentions in a stream of tokens, and the names of every entity as tokens; stored beside the stream."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from search_space.packing.sequences import EntityNames
from steeplechase.foundation.errors import CorruptionError, damage_refused
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.mentions.declaration import Mention, MentionFinder, without_overlaps
from steeplechase.tasks.tokenizer import Tokenizer, TokensWithOffsets
from steeplechase.tasks.tokens import read_array

DOCUMENTS_PER_BATCH = 512
NAMES_FILE = "entities.json"


@dataclass
class Entities:
    """The entities found so far, numbered from 0, with their types and their names as tokens."""

    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    """By identifier and type."""
    names: defaultdict[int, dict[tuple[int, ...], None]] = field(default_factory=lambda: defaultdict(dict))
    """By number, in the order in which they were found."""

    def number(self, mention: Mention) -> int:
        """Return the number of a mention's entity."""
        return self.numbers.setdefault((mention.entity, mention.type), len(self.numbers))

    def alone(self) -> set[int]:
        """Return the numbers of the entities whose type has no other entity; their mentions are never replaced."""
        sizes = Counter(entity_type for _, entity_type in self.numbers)
        return {number for (_, entity_type), number in self.numbers.items() if sizes[entity_type] == 1}

    def save(self, folder: Path) -> None:
        """Write the type and the names of every entity into a folder."""
        rows = [
            {"entity": entity, "type": entity_type, "names": [[*name] for name in self.names[number]]}
            for (entity, entity_type), number in self.numbers.items()
        ]
        (folder / NAMES_FILE).write_text(json.dumps(rows, separators=(",", ":")), encoding="utf-8")


@dataclass(frozen=True)
class MentionCounts:
    """Numbers of mentions of a split."""

    kept: int
    left_out: int
    """They overlap another one, or begin or end inside a token."""


def mention_file(folder: Path, split: str) -> Path:
    """Return the file of a split's mentions in the folder of the tokens stage."""
    return folder / f"{split}.mentions.npy"


def write_mentions(
    documents: Iterable[Document], finder: MentionFinder, tokenizer: Tokenizer, entities: Entities, path: Path
) -> MentionCounts:
    """Write the first token, the token after the last and the entity of every mention, in the order of the stream.

    Their names are added to `entities`. Positions are those of the stream that `write_tokens` writes.
    """
    rows: list[tuple[int, int, int]] = []
    position = listed = 0
    remaining = iter(documents)
    while batch := list(islice(remaining, DOCUMENTS_PER_BATCH)):
        encodings = tokenizer.encode_with_offsets([document.text for document in batch])
        for document, encoded in zip(batch, encodings, strict=True):
            found = [*finder.mentions(document)]
            listed += len(found)
            for mention, first, last in _in_tokens(without_overlaps(found), encoded):
                number = entities.number(mention)
                entities.names[number].setdefault(tuple(encoded.tokens[first:last]))
                rows.append((position + first, position + last, number))
            position += len(encoded.tokens) + 1  # [SEP]
    np.save(path, np.array(rows, np.int64).reshape(-1, 3), allow_pickle=False)
    return MentionCounts(len(rows), listed - len(rows))


def _in_tokens(mentions: Iterable[Mention], encoded: TokensWithOffsets) -> Iterator[tuple[Mention, int, int]]:
    """Yield the mentions that are whole tokens, each with its first token and the one after its last."""
    filled = [number for number, (start, end) in enumerate(encoded.offsets) if end > start]
    begins = {encoded.offsets[number][0]: number for number in reversed(filled)}
    ends = {encoded.offsets[number][1]: number + 1 for number in filled}
    for mention in mentions:
        if mention.start in begins and mention.end in ends:
            yield mention, begins[mention.start], ends[mention.end]


def read_entity_names(folder: Path) -> EntityNames:
    """Return what `Entities.save` wrote. Raises CorruptionError if it is not such a file."""
    with damage_refused(NAMES_FILE):
        rows = json.loads((folder / NAMES_FILE).read_text(encoding="utf-8"))
        names = [[tuple(map(int, name)) for name in row["names"]] for row in rows]
        return EntityNames([str(row["type"]) for row in rows], names)


def read_mentions(path: Path) -> NDArray[np.int64]:
    """Return what `write_mentions` wrote [mention 3]. Raises CorruptionError if it is not such a file."""
    mentions: NDArray[np.int64] = read_array(path, ("<i8",), 2)
    if mentions.shape[1] != 3:
        raise CorruptionError(f"{path.name}: rows of {mentions.shape[1]} numbers, expected 3")
    return mentions
