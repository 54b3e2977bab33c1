"""Encodes minimal pairs and computes the accuracy of preferring the acceptable sentence. BLiMP, arXiv 1912.00582."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from steeplechase.foundation.errors import damage_refused
from steeplechase.tasks.labelled.encoding import EncodedExamples, encode_examples
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.tokenizer import Tokenizer

TIE = 0.5  # accuracy of a pair with equal scores, so that a constant score is at chance
GROUPS_FILE = "groups.json"

PairScores = Sequence[tuple[float, float]]
"""Per pair, the log-probabilities of the acceptable and the unacceptable sentence, in nats."""


def encode_pairs(examples: Sequence[Example], tokenizer: Tokenizer, length: int) -> EncodedExamples:
    """Return two rows per pair, the acceptable sentence first. Raises ValueError if `length` is under 3."""
    sentences = [Example(text, source=pair.source) for pair in examples for text in (pair.first, str(pair.second))]
    return encode_examples(sentences, "single", tokenizer, length)


def save_groups(examples: Iterable[Example], folder: Path) -> None:
    """Write the group (phenomenon) of every pair into an existing folder."""
    (folder / GROUPS_FILE).write_text(json.dumps([example.group for example in examples]), encoding="utf-8")


def load_groups(folder: Path) -> list[str]:
    """Return the group (phenomenon) of every pair; raises CorruptionError if the file is damaged or missing."""
    with damage_refused(folder.name):
        groups = json.loads((folder / GROUPS_FILE).read_text(encoding="utf-8"))
        return [str(group) for group in groups]


def pair_accuracy(scores: PairScores) -> float:
    """Return the share of pairs, from 0 to 1, whose acceptable sentence is more probable; a tie counts one half."""
    return fmean(TIE if good == bad else float(good > bad) for good, bad in scores)


def accuracy_by_group(scores: PairScores, groups: Sequence[str]) -> dict[str, float]:
    """Return the accuracy by group, from 0 to 1; pairs without a group are ignored."""
    by_group: dict[str, list[tuple[float, float]]] = {}
    for pair, group in zip(scores, groups, strict=True):
        if group:
            by_group.setdefault(group, []).append(pair)
    return {group: pair_accuracy(by_group[group]) for group in sorted(by_group)}
