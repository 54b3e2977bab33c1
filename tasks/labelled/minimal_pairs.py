"""Minimal pairs as arrays, and the accuracy of preferring the acceptable sentence. Warstadt et al. 2020, BLiMP."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from foundation.errors import CorruptionError
from tasks.labelled.encoding import EncodedExamples, encode_examples
from tasks.labelled.task import Example
from tasks.tokenizer import WordPiece

TIE = 0.5  # what a scorer without preference gets: a constant one is at chance
GROUPS_FILE = "groups.json"

PairScores = Sequence[tuple[float, float]]
"""Of each pair the log-probability of the acceptable and of the unacceptable sentence, in nats."""


def encode_pairs(examples: Sequence[Example], tokenizer: WordPiece, length: int) -> EncodedExamples:
    """Return two sequences for each pair, the acceptable sentence first. Raises ValueError if none fits `length`."""
    sentences = [Example(text, source=pair.source) for pair in examples for text in (pair.first, str(pair.second))]
    return encode_examples(sentences, "single", tokenizer, length)


def save_groups(examples: Iterable[Example], folder: Path) -> None:
    """Write the phenomenon of every pair into an existing folder."""
    (folder / GROUPS_FILE).write_text(json.dumps([example.group for example in examples]), encoding="utf-8")


def load_groups(folder: Path) -> list[str]:
    """Return the phenomenon of every pair; raises CorruptionError where the file is damaged or missing."""
    try:
        groups = json.loads((folder / GROUPS_FILE).read_text(encoding="utf-8"))
        return [str(group) for group in groups]
    except (OSError, ValueError, TypeError) as damage:
        raise CorruptionError(f"{folder.name}: {damage!r}") from damage


def pair_accuracy(scores: PairScores) -> float:
    """Return the share of pairs, from 0 to 1, whose acceptable sentence is the more probable; a tie is one half."""
    return fmean(TIE if good == bad else float(good > bad) for good, bad in scores)


def accuracy_by_group(scores: PairScores, groups: Sequence[str]) -> dict[str, float]:
    """Return the accuracy of each named group, by name; empty where pairs have no group."""
    of_group: dict[str, list[tuple[float, float]]] = {}
    for pair, group in zip(scores, groups, strict=True):
        if group:
            of_group.setdefault(group, []).append(pair)
    return {group: pair_accuracy(of_group[group]) for group in sorted(of_group)}
