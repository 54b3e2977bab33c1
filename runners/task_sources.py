"""Where a stage reads a task: its declaration in the experiment, resolved, and its files."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import settings_of
from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.dataset_folder import PublishedData
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.lexicon.synonyms import Synonyms
from steeplechase.tasks.own_tasks import ResolvedTask, task_named
from steeplechase.tasks.own_tasks.derived import (
    FeatureTask,
    RareSynonyms,
    RareWordsTask,
    ResolvedFeatures,
    ResolvedRarified,
    ResolvedVariant,
    VariantTask,
    WordEmbeddings,
)
from steeplechase.tasks.own_tasks.label_names import alike
from steeplechase.tasks.own_tasks.resolution import ResolvedTable, resolve
from steeplechase.tasks.own_tasks.table import TableFiles, TableFormat, TableTask
from steeplechase.tasks.squad.questions import SquadFile

NO_LABEL = frozenset({"-1", "-", "--", "?", "n/a", "na", "nan", "null"})
"""Labels, in lower case, by which data sets say that a text has none."""
SHOWN_LABELS = 12


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


def _tables(tuning: FineTuning) -> Iterator[tuple[str, ResolvedTable]]:
    """Yield the tables whose tasks are evaluated; one with mistakes is an error elsewhere."""
    for name in tuning.tasks:
        own = tuning.own_tasks.get(name)
        if isinstance(own, TableTask):
            try:
                yield name, resolve(name, own)
            except DataError:
                continue


def table_notes(tuning: FineTuning) -> Iterator[str]:
    """Yield one line per table: its examples by part, its labels, and the rows that are left out."""
    for name, table in _tables(tuning):
        counts = ", ".join(f"{part} {count:,}" for part, count in table.counts.items())
        labels = table.labels.get("train", {})
        shown = ", ".join(f"{label!r} {count:,}" for label, count in [*labels.items()][:SHOWN_LABELS])
        more = f" and {len(labels) - SHOWN_LABELS} more" if len(labels) > SHOWN_LABELS else ""
        left_out = f"; {table.unlabelled:,} rows without a label are left out" if table.unlabelled else ""
        yield f"{name}: {counts} examples{f'; labels in train: {shown}{more}' if labels else ''}{left_out}"


def table_warnings(tuning: FineTuning) -> Iterator[str]:
    """Yield one line for everything in a table that may be a mistake of its author; it is read all the same."""
    for name, table in _tables(tuning):
        yield from (f"fine_tuning.own_tasks.{name}: {line}" for line in _warnings(table))
    yield from _squad_warnings(tuning)


def _squad_warnings(tuning: FineTuning) -> Iterator[str]:
    """Yield one line per file of SQuAD whose answers are absent from their contexts, or stand elsewhere."""
    known = [name for name in tuning.tasks if name in tuning.known_tasks and not tuning.is_table(name)]
    for task in dict.fromkeys(tuning.root_of(name) for name in known):
        found = tuning.find(task)
        if found.squad is None or found.files is None or tuning.data is None:
            continue
        for part in found.files.needed:
            read = partial(tuning.data.questions, found.files, part, found.squad)
            try:
                yield from _irregular(_SquadPart(fingerprint(tuning.data.inputs(found.files)), part, task, read))
            except DataError:  # an error elsewhere
                continue


@dataclass(frozen=True)
class _SquadPart:
    """A part of a task of SQuAD's form, by the bytes of its files."""

    sha256: str
    part: str
    task: str
    read: Callable[[], SquadFile] = field(compare=False)


@lru_cache  # reading SQuAD takes seconds
def _irregular(part: _SquadPart) -> tuple[str, ...]:
    """Return the line on the answers that are absent from their contexts, or stand elsewhere; empty without any."""
    file = part.read()
    if not file.answers_lost and not file.answers_moved:
        return ()
    count = sum(len(question.answers) for question in file.questions)
    return (f"{part.task}, {file.name}: {answers_warning(count, file.answers_lost, file.answers_moved)}",)


def _warnings(table: ResolvedTable) -> Iterator[str]:
    if table.repeated_in_train:
        share = f"{table.repeated_in_train} of {table.counts['dev']} dev examples"
        yield f"{share} have the texts of a train example"
    if same := alike(table.format.all_labels):
        shown = "; ".join(", ".join(ascii(label) for label in labels) for labels in same)
        what = "labels that differ in case, Unicode form, invisible characters or the form of a number alone"
        yield f"{what} are different labels: {shown}"
    yield from _never_taught(table)
    labels = table.labels.get("train", {})
    for label in labels if table.format.columns.predicted == "label" else ():
        if label.lower() in NO_LABEL and set(labels) != {"-1", "1"}:
            count = sum(of_part.get(label, 0) for of_part in table.labels.values())
            rest = f"may mean no label; unlabelled: [{label!r}] leaves such rows out"
            yield f"the label {label!r} ({count} examples) {rest}"
    if table.quoted:
        rule = "begin and end with a quotation mark, which is read as text; quotes: true reads them"
        yield f"{table.quoted} cells of .tsv {rule}"
    yield from _without_value(table)
    for reason, metrics in grouped(table.uncounted).items():
        yield f"{', '.join(metrics)}: {reason}"
    if table.answers_absent or table.answers_moved:
        yield answers_warning(table.answers, table.answers_absent, table.answers_moved)


def _never_taught(table: ResolvedTable) -> Iterator[str]:
    """Yield how many examples of a part have a label that no train example has, so that no model can learn it."""
    taught = table.labels.get("train", {})
    for part, counts in table.labels.items() if not table.format.columns.options else ():
        if absent := {label: count for label, count in counts.items() if label not in taught}:
            shown = ", ".join(ascii(label) for label in [*absent][:SHOWN_LABELS])
            more = f" and {len(absent) - SHOWN_LABELS} more" if len(absent) > SHOWN_LABELS else ""
            what = "words" if table.format.columns.predicted == "tags" else "examples"
            share = f"{sum(absent.values())} of {sum(counts.values())} {part} {what}"
            yield f"{share} have a label that no train example has: {shown}{more}{_as_values(taught)}"


def _as_values(labels: Iterable[str]) -> str:
    """Return the advice to predict a number where every label is one and one is not whole; empty elsewhere."""
    numbers = all(re.fullmatch(r"[-+]?\d+(\.\d+)?", label) for label in labels)
    rest = ". To predict numbers, name the column under columns.value"
    return rest if numbers and any("." in label for label in labels) else ""


def answers_warning(answers: int, absent: int, moved: int) -> str:
    """Return how many answers do not stand in their contexts, and how many stand elsewhere than the file says."""
    said = [f"{absent} of {answers} answers do not stand in their contexts, so that none can be learned"] * bool(
        absent
    )
    said += [f"{moved} of {answers} answers do not stand where the file says, and were found nearby"] * bool(moved)
    return "; ".join(said)


def grouped(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the metrics of each reason."""
    found: dict[str, list[str]] = {}
    for metric, reason in reasons.items():
        found.setdefault(reason, []).append(metric)
    return found


def _without_value(table: ResolvedTable) -> Iterator[str]:
    """Yield the metrics that have no value because the dev examples have one label or one value."""
    for reason, metrics in sorted(grouped(table.without_value).items()):
        yield f"no value of {', '.join(metrics)} on dev: {reason}"


def limited(source: TaskSource, part: str, setting: int | None) -> int | None:
    """Return the number of examples of train or dev: of a table the number that is read, of other tasks the limit."""
    assert part in ("train", "dev")
    limit = source.task.limit("train" if part == "train" else "dev", setting)
    if source.table is None:
        return limit
    count = source.table.counts[part]
    return count if limit is None else min(limit, count)
