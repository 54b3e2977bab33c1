"""Names of the labels of a table whose experiment declares none, from its files while they are what a stage read."""

from dataclasses import replace
from pathlib import Path

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.encoding import load_examples
from steeplechase.tasks.labelled.forms import load_words
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.resolution import resolve
from steeplechase.tasks.own_tasks.table import TableTask

RowLabels = list[tuple[str, tuple[int, ...]]]


def with_label_names(task: DownstreamTask, table: TableTask, examples: Path) -> DownstreamTask:
    """Return a task of a table with the labels of its train file; as it is where the file is not what a stage read.

    `examples` is the folder of the stage: each row of its train and dev parts has the label that it has in the files.
    """
    if task.labels or not table.format.label_column:
        return task
    try:
        found = resolve(task.name, table).format
        files = found.task(task.name).files
        assert files is not None
        parts = table.table_files.parts(files)
    except DataError:
        return task
    for part in ("train", "dev"):
        labels = {each.row: each.tags or (each.label,) for each in parts[part].examples}
        if any(labels.get(row) != of_row for row, of_row in _labels(task, examples / part)):
            return task
    return replace(task, labels=found.labels)


def _labels(task: DownstreamTask, part: Path) -> RowLabels:
    """Return the row of every example of a part, with the index of its label, of tags with those of its words."""
    if task.form != "tags":
        found = load_examples(part)
        return [(row, (int(label),)) for row, label in zip(found.rows, found.labels, strict=True)]
    words = load_words(part)
    tags: list[list[int]] = [[] for _ in words.sequences.rows]
    for sentence, tag in zip(words.sentences, words.tags, strict=True):
        tags[sentence].append(tag)
    return [(row, tuple(of_row)) for row, of_row in zip(words.sequences.rows, tags, strict=True)]
