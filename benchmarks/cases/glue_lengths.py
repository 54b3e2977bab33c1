"""Lengths of GLUE's examples in WordPiece tokens: measured on the data sets if present, else from a table."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.data_folder import data_folder
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import read_vocabulary

VOCABULARY = "vocab/bert-base-uncased/vocab.txt"
ROWS_PER_TASK = 500  # the first ones; the published order is random enough for lengths
COLUMNS: dict[str, tuple[int, ...]] = {
    "CoLA": (3,),
    "SST-2": (0,),
    "MRPC": (3, 4),
    "STS-B": (7, 8),
    "QQP": (3, 4),
    "MNLI": (8, 9),
    "QNLI": (1, 2),
    "RTE": (1, 2),
}
WITHOUT_HEADER = ("CoLA",)

# every 5th percentile, 0 to 100, of `measured_lengths` with BERT's uncased vocabulary
PERCENTILES = (3, 7, 10, 13, 16, 17, 19, 20, 23, 26, 30, 34, 37, 41, 44, 49, 53, 58, 64, 76, 250)


def read_lengths(count: int, longest: int) -> tuple[NDArray[np.int32], str]:
    """Return lengths [count] in a random order, [CLS] and [SEP] included, none above `longest`, and their source."""
    random = np.random.default_rng(1)
    data = data_folder()
    if all(path.is_file() for path in (data / VOCABULARY, *(_train_file(data, task) for task in COLUMNS))):
        measured, source = random.permutation(measured_lengths(data)), "lengths of GLUE's train sets"
        lengths = measured[:count] if len(measured) >= count else random.choice(measured, count)
    else:
        shares = random.random(count) * (len(PERCENTILES) - 1)
        lengths, source = np.interp(shares, range(len(PERCENTILES)), PERCENTILES), "percentiles of GLUE's lengths"
    return np.minimum(lengths, longest).astype(np.int32), source


def measured_lengths(data: Path) -> NDArray[np.int64]:
    """Return the untruncated lengths of the first 500 training examples of every task."""
    tokenizer = WordPiece(read_vocabulary(data / VOCABULARY), lowercase=True)
    lengths = [_task_lengths(_train_file(data, task), task, tokenizer) for task in COLUMNS]
    return np.concatenate(lengths)


def _train_file(data: Path, task: str) -> Path:
    return data / "glue" / task / "train.tsv"


def _task_lengths(path: Path, task: str, tokenizer: WordPiece) -> NDArray[np.int64]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if task not in WITHOUT_HEADER:
            next(lines)
        rows = [line for _, line in zip(range(ROWS_PER_TASK), lines, strict=False)]
    texts: list[Sequence[list[int]]] = [tokenizer.encode([row[column] for row in rows]) for column in COLUMNS[task]]
    return np.array([1 + sum(len(text) + 1 for text in sides) for sides in zip(*texts, strict=True)])
