"""Encodes pairs of a source and a target text: [CLS] source [SEP] for an encoder, and the target with its end."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steeplechase.foundation.errors import damage_refused
from steeplechase.tasks.labelled.encoding import (
    EncodedExamples,
    IntegerArray,
    encode_examples,
    load_array,
    load_examples,
)
from steeplechase.tasks.labelled.encoding import save_examples as save_sources
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.tokenizer import Tokenizer

TARGETS_FILE, LENGTHS_FILE, TEXTS_FILE = "targets.npy", "target_lengths.npy", "texts.json"


@dataclass(frozen=True)
class EncodedTextPairs:
    """Encoded sources and targets, in the order of the examples, with their texts."""

    sources: EncodedExamples
    """`answers_lost` is the number of truncated targets."""
    targets: IntegerArray
    """[example target]; tokens, [SEP], then [PAD]; a truncated target ends with [SEP] too."""
    target_lengths: IntegerArray
    """[example]; tokens of each target, [SEP] included."""
    source_texts: tuple[str, ...]
    references: tuple[str, ...]
    """The target texts as given, which predictions are compared with."""

    def __len__(self) -> int:
        return len(self.references)


def encode_text_pairs(
    examples: Sequence[Example], tokenizer: Tokenizer, length: int, source_tokenizer: Tokenizer | None = None
) -> EncodedTextPairs:
    """Return the pairs with sources and targets of at most `length` tokens, special ones included.

    Sources have the tokenizer of targets if they have none of their own. Raises ValueError if `length` is too small
    for one token.
    """
    sources = encode_examples(
        [Example(example.first, row=example.row) for example in examples],
        "single",
        source_tokenizer or tokenizer,
        length,
    )
    references = tuple(str(example.second) for example in examples)
    tokens = tokenizer.encode(references)
    cut = [row[: length - 1] for row in tokens]
    targets = np.full((len(cut), length), tokenizer.pad, np.int32)
    for target, row in zip(targets, cut, strict=True):
        target[: len(row) + 1] = [*row, tokenizer.separate]
    lost = sum(len(row) < len(whole) for row, whole in zip(cut, tokens, strict=True))
    lengths = np.asarray([len(row) + 1 for row in cut], np.int32)
    texts = tuple(example.first for example in examples)
    return EncodedTextPairs(replace(sources, answers_lost=lost), targets, lengths, texts, references)


def save_text_pairs(encoded: EncodedTextPairs, folder: Path) -> None:
    """Write the sources, as `save_examples` does, the targets and the texts into an existing folder."""
    save_sources(encoded.sources, folder)
    np.save(folder / TARGETS_FILE, encoded.targets.astype("<i4"), allow_pickle=False)
    np.save(folder / LENGTHS_FILE, encoded.target_lengths.astype("<i4"), allow_pickle=False)
    texts = {"sources": encoded.source_texts, "references": encoded.references}
    (folder / TEXTS_FILE).write_text(json.dumps(texts, ensure_ascii=False) + "\n", encoding="utf-8")


def load_text_pairs(folder: Path) -> EncodedTextPairs:
    """Return saved pairs; raises CorruptionError if a file is damaged or missing."""
    sources = load_examples(folder)
    with damage_refused(folder.name):
        texts = json.loads((folder / TEXTS_FILE).read_text(encoding="utf-8"))
        targets, lengths = load_array(folder / TARGETS_FILE), load_array(folder / LENGTHS_FILE)
        return EncodedTextPairs(sources, targets, lengths, tuple(texts["sources"]), tuple(texts["references"]))
