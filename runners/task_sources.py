"""Where a stage reads a task: its declaration in the experiment, resolved, and its files."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from configuration.fine_tuning import FineTuning
from configuration.fine_tuning_runs import settings_of
from foundation.errors import DataError
from tasks.dataset_folder import PublishedData
from tasks.labelled.task import DownstreamTask
from tasks.lexicon.synonyms import Synonyms
from tasks.own_tasks import ResolvedTask, task_named
from tasks.own_tasks.features import FeatureTask, ResolvedFeatures
from tasks.own_tasks.rarified import (
    RareSynonyms,
    RareWordsTask,
    ResolvedRarified,
    WordEmbeddings,
)
from tasks.own_tasks.resolution import ResolvedTable, resolve
from tasks.own_tasks.table import TableFiles, TableFormat, TableTask
from tasks.own_tasks.variant import ResolvedVariant, VariantTask


@dataclass(frozen=True)
class TaskSource:
    """A task with its files; of a table, the labels and counts that its files have."""

    task: DownstreamTask
    own_task: ResolvedTask | None
    """None for a known task."""
    data: PublishedData | TableFiles | None
    """None for a task that is built from documents."""
    table: ResolvedTable | None = None
    synonyms: Synonyms | None = None
    """Of a rarified task."""


def task_source(tuning: FineTuning, name: str) -> TaskSource:
    """Return the source of a task; the files of a table are read, of other tasks they are not.

    Raises DataError with every mistake of a table's files.
    """
    root = tuning.root_of(name)
    declared = tuning.own_tasks.get(root)
    table = resolve(name, declared) if isinstance(declared, TableTask) else None
    resolved_task = _resolved(tuning, name, None if table is None else table.format)
    task = task_named(name, resolved_task)
    published = settings_of(tuning, name).data if task.files else None
    data = declared.table_files if isinstance(declared, TableTask) else published
    rarified = tuning.rarified(name)
    return TaskSource(task, resolved_task, data, table, None if rarified is None else rarified.synonyms)


def _resolved(tuning: FineTuning, name: str, table: TableFormat | None) -> ResolvedTask | None:
    """Return a task's declaration as its stages read it."""
    own, rarified = tuning.own_tasks.get(name), tuning.rarified(name)
    if isinstance(own, FeatureTask):
        fields = {field: getattr(own, field) for field in FeatureTask.model_fields}
        return ResolvedFeatures(**fields, table=table)
    if isinstance(own, VariantTask):
        return ResolvedVariant(of=own.of, table=table)
    if rarified is None:
        return table
    words = None
    if isinstance(own, RareWordsTask):
        words = WordEmbeddings(**{field: getattr(own, field) for field in WordEmbeddings.model_fields})
    fields = {field: getattr(rarified, field) for field in RareSynonyms.model_fields}
    return ResolvedRarified(**fields, of=rarified.of, words=words, table=table)


def table_warnings(tuning: FineTuning) -> Iterator[str]:
    """Yield one line per table whose train and dev share texts, and one whose labels differ in case or form alone.

    A table with mistakes is an error elsewhere.
    """
    for name in tuning.tasks:
        own = tuning.own_tasks.get(name)
        if isinstance(own, TableTask):
            try:
                table = resolve(name, own)
            except DataError:
                continue
            if table.repeated_in_train:
                share = f"{table.repeated_in_train} of {table.counts['dev']} dev examples"
                yield f"fine_tuning.own_tasks.{name}: {share} have the texts of a train example"
            if alike := _alike(table.format.all_labels):
                shown = "; ".join(", ".join(ascii(label) for label in labels) for labels in alike)
                rule = "labels that differ in case or Unicode form alone are different labels"
                yield f"fine_tuning.own_tasks.{name}: {rule}: {shown}"


def _alike(labels: tuple[str, ...]) -> list[list[str]]:
    """Return the groups of labels that are equal without case, Unicode form and white space around them."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(unicodedata.normalize("NFKC", label).casefold().strip(), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def limited(source: TaskSource, part: str, setting: int | None) -> int | None:
    """Return the number of examples of train or dev: of a table the number that is read, of other tasks the limit."""
    assert part in ("train", "dev")
    limit = source.task.limit("train" if part == "train" else "dev", setting)
    if source.table is None:
        return limit
    count = source.table.counts[part]
    return count if limit is None else min(limit, count)
