"""Where a stage reads a task: its declaration in the experiment, resolved, and its files."""

from collections.abc import Iterator
from dataclasses import dataclass

from configuration.fine_tuning import FineTuning
from configuration.fine_tuning_runs import settings_of
from foundation.errors import DataError
from tasks.dataset_folder import PublishedData
from tasks.labelled.task import DownstreamTask
from tasks.own_tasks import task_named
from tasks.own_tasks.features import FeatureTask, ResolvedFeatures
from tasks.own_tasks.resolution import ResolvedTable, resolve
from tasks.own_tasks.table import TableFiles, TableFormat, TableTask


@dataclass(frozen=True)
class TaskSource:
    """A task with its files; of a table, the labels and counts that its files have."""

    task: DownstreamTask
    own_task: TableFormat | ResolvedFeatures | None
    """None for a known task."""
    data: PublishedData | TableFiles | None
    """None for a task that is built from documents."""
    table: ResolvedTable | None = None


def task_source(tuning: FineTuning, name: str) -> TaskSource:
    """Return the source of a task; the files of a table are read, of other tasks they are not.

    Raises DataError with every mistake of a table's files.
    """
    own = tuning.own_tasks.get(name)
    declared = tuning.own_tasks.get(own.of) if isinstance(own, FeatureTask) else own
    table = resolve(name, declared) if isinstance(declared, TableTask) else None
    resolved = None if table is None else table.format
    if isinstance(own, FeatureTask):
        fields = {field: getattr(own, field) for field in FeatureTask.model_fields}
        resolved_task: TableFormat | ResolvedFeatures | None = ResolvedFeatures(**fields, table=resolved)
    else:
        resolved_task = resolved
    task = task_named(name, resolved_task)
    published = settings_of(tuning, name).data if task.files else None
    data = declared.table_files if isinstance(declared, TableTask) else published
    return TaskSource(task, resolved_task, data, table)


def table_warnings(tuning: FineTuning) -> Iterator[str]:
    """Yield one line per table whose train and dev share texts; a table with mistakes is an error elsewhere."""
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


def limited(source: TaskSource, part: str, setting: int | None) -> int | None:
    """Return the number of examples of train or dev: of a table the number that is read, of other tasks the limit."""
    assert part in ("train", "dev")
    limit = source.task.limit("train" if part == "train" else "dev", setting)
    if source.table is None:
        return limit
    count = source.table.counts[part]
    return count if limit is None else min(limit, count)
