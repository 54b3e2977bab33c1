"""Reads all files of a table before a run begins: labels, counts, and every mistake of every file at once."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.without_value import without_value
from steeplechase.tasks.own_tasks.columns import TableColumns, named
from steeplechase.tasks.own_tasks.label_names import unknown_labels
from steeplechase.tasks.own_tasks.parsing import ParsedFile, ParsedRow, parse_file
from steeplechase.tasks.own_tasks.table import (
    TableFormat,
    TableTask,
    questions_of,
    repeated_in_train,
)
from steeplechase.tasks.own_tasks.uncounted import uncounted

WHOLE_NUMBER = re.compile(r"-?[0-9]+")
ENTITIES, OUTSIDE = "entity_", "O"
ENTITY_TAG = re.compile(r"[BI]-.+")  # IOB1 and IOB2, which `tasks/labelled/scoring.py` reads
SHOWN_TAGS = 5


@dataclass(frozen=True)
class ResolvedTable:
    """A table whose files have been read without a mistake."""

    format: TableFormat
    counts: Mapping[str, int]
    """Number of examples by part."""
    repeated_in_train: int
    """Number of dev examples whose texts are also in train."""
    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of examples (of tags: of words) by part and label; empty for other targets."""
    without_value: Mapping[str, str] = field(default_factory=dict)
    """The metrics that the dev examples give no value, each with the reason."""
    uncounted: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with the metrics that cannot count the words of some dev answers or targets."""
    unlabelled: int = 0
    """Number of rows without a label, in all files, which are left out."""
    quoted: int = 0
    """Number of cells in quotation marks that are read as text."""
    answers: int = 0
    """Number of answers, with `squad`."""
    answers_moved: int = 0
    """Number of answers found near their start in the file, with `squad`."""
    answers_absent: int = 0
    """Number of answers that are not near their start in the file, with `squad`."""


def resolve(name: str, task: TableTask) -> ResolvedTable:
    """Return the table with its labels, its range of values and its counts.

    Raises DataError with the mistakes of all files at once.
    """
    files = task.task(name).files
    assert files is not None
    located = task.table_files.located(files)
    try:
        content = tuple((part, path, sha256_of(path)) for part, path in located.items())
    except OSError as failure:
        raise DataError(f"{failure.filename}: {failure.strerror}") from failure
    try:
        return _resolved(task.format, content)
    except DataError as error:
        lines = [_at_its_column(line, name, task.columns) for line in error.lines]
        raise DataError([*lines, *_test_without_labels(task, located, error.lines)]) from error


def _at_its_column(line: str, task: str, columns: TableColumns) -> str:
    """Return a mistake, behind the setting that names its column where a file lacks that."""
    for content in type(columns).model_fields:
        value = getattr(columns, content)
        for column in value if isinstance(value, tuple) else (value,):
            parts = str(column).split(".")  # of a nested field the message has what is missing from there on
            fields = (f"no field {'.'.join(parts[start:])!r}" for start in range(len(parts)))
            if any(text in line for text in (f"no column {column!r}", *fields)):
                return f"fine_tuning.own_tasks.{task}.columns.{content}: {line}"
    return line


def _test_without_labels(task: TableTask, located: Mapping[str, Path], lines: Sequence[str]) -> Iterator[str]:
    """Yield the remedy where a test file has no column of labels, or rows without one."""
    of_test = [line for line in lines if "test" in located and line.startswith(f"{located['test']}:")]
    target = getattr(task.columns, task.columns.predicted, ()) or task.columns.label
    if any(f"no column {target!r}" in line or "unlabelled" in line for line in of_test):
        yield f"{located['test']}: test is scored beside dev and needs labels; leave out `test` where it has none"


@cache
def _resolved(declared: TableFormat, content: tuple[tuple[str, Path, str], ...]) -> ResolvedTable:
    """Read every file once; `content` has part, file and sha256, so that a changed file is read again."""
    files: dict[Path, ParsedFile] = {}
    unreadable: list[str] = []
    for path in dict.fromkeys(path for _, path, _ in content):
        try:
            files[path] = parse_file(declared, path, str(path))
        except DataError as error:
            unreadable += error.lines
    by_part = {part: files[path] for part, path, _ in content if path in files}
    table = declared
    if "train" in by_part:
        table = _with_labels(declared, by_part["train"])
        _check_labels(declared, table, by_part)
    lines = [*unreadable, *(line for file in files.values() for line in file.mistakes.report)]
    if lines:
        raise DataError(lines)
    rows = {part: file.rows for part, file in by_part.items()}
    if declared.dev_share is not None:
        rows |= declared.split(by_part["train"].rows)
    _refuse_empty(content[0][1], rows, declared)
    _refuse_one_target(content[0][1], rows["train"], table)
    train, dev = ([row.example for row in rows[part]] for part in ("train", "dev"))
    repeated = repeated_in_train(train, dev)
    squad = [questions_of(each, table.squad, content[0][1].name) for each in rows.values()] if table.squad else ()
    return ResolvedTable(
        table,
        {part: len(each) for part, each in rows.items()},
        repeated,
        labels={part: _counted(each, table) for part, each in rows.items()} if table.label_column else {},
        without_value={} if table.squad or table.columns.target else _without_value(table, rows["dev"]),
        uncounted=uncounted(table, rows["dev"]),
        unlabelled=sum(file.unlabelled for file in files.values()),
        quoted=sum(file.quoted for file in files.values()),
        answers=sum(len(question.answers) for file in squad for question in file.questions),
        answers_moved=sum(file.answers_moved for file in squad),
        answers_absent=sum(file.answers_lost for file in squad),
    )


def _without_value(table: TableFormat, dev: Sequence[ParsedRow]) -> Mapping[str, str]:
    examples = [table.example(row) for row in dev]
    references = [
        reference
        for each in examples
        for reference in (each.tags or (each.value if each.value is not None else each.label or 0,))
    ]
    return without_value(table.task(""), references)


def _counted(rows: Sequence[ParsedRow], table: TableFormat) -> Mapping[str, int]:
    """Return the number of examples, or words, with each label, in the order of the labels."""
    counts = Counter(label for row in rows for label in row.labels)
    return {label: counts[label] for label in table.all_labels if counts[label]}


def _with_labels(declared: TableFormat, train: ParsedFile) -> TableFormat:
    """Return the format with the labels and the range of values of the train file, where they are not declared."""
    if declared.columns.predicted in ("label", "tags") and not declared.labels:
        return declared.model_copy(update={"labels": _ordered(train.labels)})
    values = [row.example.value for row in train.rows if row.example.value is not None]
    if declared.columns.predicted == "value" and declared.value_range is None and values:
        return declared.model_copy(update={"value_range": (min(values), max(values))})
    return declared


def _ordered(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels sorted: by number if all are whole numbers, tags with O first, else by text."""
    if all(WHOLE_NUMBER.fullmatch(label) for label in labels):
        return tuple(sorted(labels, key=lambda label: (int(label), label)))
    return tuple(sorted(labels, key=lambda label: (label != "O", label)))


def _check_labels(declared: TableFormat, table: TableFormat, by_part: Mapping[str, ParsedFile]) -> None:
    """Add the mistakes that need the labels of all files."""
    train = by_part["train"]
    origin = "in fine_tuning.own_tasks" if declared.labels else f"of {train.mistakes.name}"
    if table.label_column and table.labels and not table.columns.options:
        for file in {id(file): file for file in by_part.values()}.values():
            for line, message in unknown_labels(file, table.labels, table.label_column, origin):
                file.mistakes.add(line, message)
    targets = _targets(train.rows)
    if declared.value_range is not None:
        for file in {id(file): file for file in by_part.values()}.values():
            for line, message in _outside(file, declared.value_range, named(table.columns.value or 0)):
                file.mistakes.add(line, message)
    if table.columns.predicted == "tags" and (message := _no_entities(table)):
        train.mistakes.add(1, f"{named(table.label_column)}: {message}")
    if len(targets) == 1 and table.columns.predicted in ("label", "value", "tags") and not train.mistakes.count:
        (only,) = targets
        message = f"all {len(train.rows)} rows have {only!r}; training needs two different ones"
        train.mistakes.add(1, f"{named(table.label_column or table.columns.value or 0)}: {message}")
    if "f1" in table.chosen_metrics and table.columns.predicted == "label" and len(table.labels) > 2:
        train.mistakes.add(1, f"f1 is of two labels, and there are {len(table.labels)}; use macro_f1")


def _targets(rows: Sequence[ParsedRow]) -> set[object]:
    """Return the different labels, tags or values of rows."""
    values = {row.example.value for row in rows if row.example.value is not None}
    return values | {label for row in rows for label in row.labels}


def _outside(file: ParsedFile, limits: tuple[float, float], column: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the message of every value that no prediction could reach."""
    smallest, largest = limits
    for row in file.rows:
        value = row.example.value
        if value is not None and not smallest <= value <= largest:
            yield row.line, f"{column}: {value:g} is outside value_range, {smallest:g} to {largest:g}"


def _no_entities(table: TableFormat) -> str:
    """Return why metrics of entities cannot read the tags; empty if they can, or if no such metric is chosen."""
    others = [tag for tag in table.labels if tag != OUTSIDE and not ENTITY_TAG.fullmatch(tag)]
    metric = next((metric for metric in table.chosen_metrics if metric.startswith(ENTITIES)), None)
    if metric is None or not others:
        return ""
    remedy = "Name them, in order, by labels" if all(tag.isdecimal() for tag in others) else "Convert them"
    return (
        f"{metric} reads the tags O, B-TYPE and I-TYPE; {', '.join(map(repr, others[:SHOWN_TAGS]))} "
        f"{'is' if len(others) == 1 else 'are'} none of them. {remedy}, or write metrics: [accuracy]"
    )


def _refuse_one_target(path: Path, train: Sequence[ParsedRow], table: TableFormat) -> None:
    """Raise DataError if dev_share leaves train with one label or value only."""
    targets = _targets(train)
    if table.columns.predicted in ("label", "value", "tags") and len(targets) == 1:
        (only,) = targets
        message = (
            f"all {len(train)} rows that dev_share leaves in train have {only!r}; training needs two different ones"
        )
        raise DataError(f"{path}: {named(table.label_column or table.columns.value or 0)}: {message}")


def _refuse_empty(path: Path, rows: Mapping[str, Sequence[ParsedRow]], table: TableFormat) -> None:
    """Raise DataError if a share leaves train or dev without examples."""
    empty = [part for part in ("train", "dev") if not rows[part]]
    if empty:
        different = len({table.kept_together(row) for row in (*rows["train"], *rows["dev"])})
        texts = "texts" if table.columns.answer is None else "contexts"
        raise DataError(f"{path}: {different} different {texts}; dev_share leaves no {empty[0]} examples")
