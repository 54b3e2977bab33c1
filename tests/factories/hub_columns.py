"""Official files as the columns that the hub has of them: labels numbered in its own order, scores in 32 bits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.splits import LoadedSplit
from tests.factories.task_files import files_of

NAMES: Mapping[str, tuple[str, ...]] = {
    "cola": ("unacceptable", "acceptable"),
    "mnli": ("entailment", "neutral", "contradiction"),
    "mrpc": ("not_equivalent", "equivalent"),
    "qnli": ("entailment", "not_entailment"),
    "qqp": ("not_duplicate", "duplicate"),
    "rte": ("entailment", "not_entailment"),
    "sst2": ("negative", "positive"),
    "wnli": ("not_entailment", "entailment"),
}
"""By task, the names of the labels 0, 1, … in `nyu-mll/glue`."""
TEXTS: Mapping[str, tuple[str, ...]] = {
    "cola": ("sentence",),
    "sst2": ("sentence",),
    "mnli": ("premise", "hypothesis"),
    "qnli": ("question", "sentence"),
    "qqp": ("question1", "question2"),
}


def columns_of(name: str, examples: tuple[Example, ...]) -> dict[str, list[Any]]:
    """Return examples as the hub's columns; a hidden label is -1."""
    texts = TEXTS.get(name, ("sentence1", "sentence2"))
    columns: dict[str, list[Any]] = {texts[0]: [example.first for example in examples]}
    if len(texts) == 2:
        columns[texts[1]] = [example.second for example in examples]
    task = find_task(name)
    if name == "stsb":
        columns["label"] = [-1.0 if one.value is None else float(np.float32(one.value)) for one in examples]
    else:
        columns["label"] = [
            -1 if one.label is None else NAMES[name].index(task.labels[one.label]) for one in examples
        ]
    columns["idx"] = [*range(len(examples))]
    return columns


def split_of(name: str, examples: tuple[Example, ...]) -> LoadedSplit:
    """Return what the door to `datasets` makes of these columns."""
    columns = columns_of(name, examples)
    if name == "stsb":
        columns["label"] = [float(str(np.float32(value))) for value in columns["label"]]
    return LoadedSplit(columns, {"label": NAMES[name]} if name in NAMES else {})


def read_file(name: str, part: str, path: Path) -> tuple[Example, ...]:
    """Return the examples of an official file."""
    read = files_of(name).read
    assert read is not None
    return read(part, path, path.name).examples
