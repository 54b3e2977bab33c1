"""`kind: table`, a user's own task from CSV, TSV, JSONL, Parquet or CoNLL files; its columns decide its form.

One table may be split into train and dev: by a hash of the texts, which no label and no order of rows enters.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import DataError, Violation, did_you_mean, listed_twice
from steeplechase.foundation.schema import JsonValue, Schema, Share
from steeplechase.tasks.data_folder import resolved, similar_name
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Part, TaskFiles, Version
from steeplechase.tasks.own_tasks.columns import DEFAULTS, METRICS, Column, TableColumns, TableLayout
from steeplechase.tasks.own_tasks.label_names import unknown_labels
from steeplechase.tasks.own_tasks.parsing import ParsedFile, ParsedRow, parse_file
from steeplechase.tasks.own_tasks.rows import KNOWN, format_of, is_conll
from steeplechase.tasks.splits import LoadedSplit
from steeplechase.tasks.squad.questions import SquadFile, read_rows

SALT = b"dev share:"  # part of every hash; another value gives another split
PARTS = ("train", "dev", "test")
SQUAD_METRICS = ("f1", "exact")
"""Official metrics of SQuAD 2.0."""
SHORTEST_WINDOW = 68
"""[CLS], a question of 64 tokens, [SEP], one token, [SEP]."""
EXAMPLE: dict[str, JsonValue] = {
    "kind": "table",
    "train": "reviews.csv",
    "dev_share": 0.1,
    "columns": {"text": "review", "label": "stars"},
    "metrics": ["f1", "accuracy"],
}


class TableFormat(TableLayout):
    """What examples a table's files give; independent of the files' names."""

    kind: Literal["table"] = "table"
    metrics: tuple[str, ...] = Field(default=(), examples=[["f1", "accuracy"]])
    """Metrics by name, the primary one first; by default those of the columns' target."""
    value_range: tuple[float, float] | None = Field(default=None, examples=[[0.0, 5.0]])
    """Smallest and largest value of a regression, to which predictions are limited; by default those of train."""
    dev_share: Share | None = Field(default=None, gt=0, lt=1, examples=[0.1])
    """Share of the train file's different texts, of questions contexts, that are the dev set, by a hash of the text;
    instead of `dev`."""

    def task(self, name: str) -> DownstreamTask:
        """Return the task; labels and the range of values are known once `resolved_format` has read the files."""
        values = self.value_range if self.value_range is not None else (0.0, 1.0)
        options = tuple(str(index) for index in range(len(self.columns.options)))
        return DownstreamTask(
            name=name,
            version=2 if self.dev_share and self.columns.answer is not None else 1,
            form="windows" if self.squad else self.columns.form,
            labels=options or self.labels,
            metrics=self.chosen_metrics,
            chance=None,
            files=TaskFiles(
                folder=name,
                parts=dict.fromkeys(PARTS, ""),
                origin=f"fine_tuning.own_tasks.{name}",
                read=None if self.squad else self.read,
                read_questions=self.squad_questions if self.squad else None,
                counts={},
            ),
            value_range=values if self.columns.predicted == "value" else None,
            squad=self.squad,
            shortest_sequence=SHORTEST_WINDOW if self.squad else 0,
            long_sequences=self.squad is not None,
        )

    @property
    def chosen_metrics(self) -> tuple[str, ...]:
        """The metrics, the primary one first; by default those of the target; of SQuAD 2.0 its official ones."""
        return self.metrics or (SQUAD_METRICS if self.squad == "v2.0" else DEFAULTS[self.columns.predicted])

    def read(self, part: str, path: Path, name: str) -> Part:
        """Return the examples of a part; raises DataError with every mistake of its file."""
        file, rows = self._rows(part, path, name)
        return Part(tuple(self.example(row) for row in rows), file.unlabelled)

    def squad_questions(self, part: str, path: Path, name: str) -> SquadFile:
        """Return the questions of a part, as of SQuAD; raises DataError with every mistake of its file."""
        assert self.squad is not None
        _, rows = self._rows(part, path, name)
        return questions_of(rows, self.squad, Path(name).name)

    def _rows(self, part: str, path: Path, name: str) -> tuple[ParsedFile, tuple[ParsedRow, ...]]:
        file = parse_file(self, path, name)
        for line, message in unknown_labels(file, self.all_labels, self.label_column, "of this task"):
            file.mistakes.add(line, message)
        file.mistakes.refuse()
        return file, self.split(file.rows)[part] if self.dev_share and part != "test" else file.rows

    def kept_together(self, row: ParsedRow) -> tuple[str, ...]:
        """Return the texts whose rows `dev_share` keeps in one part: of a question its context, else all."""
        return texts_of(row.example)[0 if self.columns.answer is None else 1 :]

    def split(self, rows: Sequence[ParsedRow]) -> dict[str, tuple[ParsedRow, ...]]:
        """Return the rows of train and dev: equal texts are in one part, chosen by a hash of the text alone.

        A text that is repeated more often than the share has room for is in train, unless dev would be empty.
        """
        assert self.dev_share is not None
        hashes = [sha256(SALT + "\0".join(self.kept_together(row)).encode()).digest() for row in rows]
        groups = Counter(hashes)
        room, chosen = math.ceil(self.dev_share * len(rows)), set[bytes]()
        for group in sorted(groups):
            if groups[group] <= room:
                chosen.add(group)
                room -= groups[group]
        if groups and not chosen:
            chosen.add(min(groups, key=lambda group: (groups[group], group)))
        return {
            "train": tuple(row for row, key in zip(rows, hashes, strict=True) if key not in chosen),
            "dev": tuple(row for row, key in zip(rows, hashes, strict=True) if key in chosen),
        }

    def example(self, row: ParsedRow) -> Example:
        """Return the example of a row, with the indices of its labels."""
        indices = _indices(self.all_labels)
        if self.columns.tags is not None:
            return replace(row.example, tags=tuple(indices[tag] for tag in row.labels))
        return replace(row.example, label=indices[row.labels[0]]) if row.labels else row.example

    @property
    def all_labels(self) -> tuple[str, ...]:
        """The labels, tags or indices of options."""
        return self.task("").labels

    @property
    def label_column(self) -> Column:
        """The column of labels or tags; empty for other targets."""
        columns = (self.columns.tags, self.columns.label)
        return next((column for column in columns if column is not None), "")


def questions_of(rows: Sequence[ParsedRow], version: Version, name: str) -> SquadFile:
    """Return the questions of the rows of a table, with the rules of SQuAD's files; raises DataError."""
    columns: dict[str, list[JsonValue]] = {
        "id": [row.example.row for row in rows],
        "title": [""] * len(rows),
        "context": [row.example.second for row in rows],
        "question": [row.example.first for row in rows],
        "answers": [
            {"text": [text for text, _ in row.answers], "answer_start": [start for _, start in row.answers]}
            for row in rows
        ],
    }
    return read_rows(LoadedSplit(columns), version, name)


@cache
def _indices(labels: tuple[str, ...]) -> Mapping[str, int]:
    return {label: index for index, label in enumerate(labels)}


class TableFiles(Schema):
    """The files of a table; relative paths begin at the working directory, or else at the experiment's file."""

    kind: Literal["table"] = "table"
    train: str = Field(min_length=1, examples=["reviews.csv"])
    """The training examples: a file that ends in .csv, .tsv, .jsonl or .parquet, of CoNLL in .conll or .txt."""
    dev: str | None = Field(default=None, min_length=1)
    """The dev examples, on which arms are compared; or give `dev_share`."""
    test: str | None = Field(default=None, min_length=1)
    """Further labelled examples, scored beside dev."""

    def located(self, files: TaskFiles) -> Mapping[str, Path]:
        """Return the file of each part, of dev the train file if dev is a share of it; raises DataError."""
        named = {"train": self.train, "dev": self.dev or self.train, "test": self.test}
        found = {part: resolved(path) for part, path in named.items() if path is not None}
        absent = [
            f"{files.origin}.{part}: {path}: {_why_no_file(path)}"
            for part, path in found.items()
            if not path.is_file() and (part != "dev" or self.dev)
        ]
        if absent:
            raise DataError(absent)
        return found

    def inputs(self, files: TaskFiles) -> JsonValue:
        """Return the sha256 of the file of each part; raises DataError as `located` does."""
        try:
            return {part: sha256_of(path) for part, path in self.located(files).items()}
        except OSError as failure:
            raise DataError(f"{failure.filename}: {failure.strerror}") from failure

    def parts(self, files: TaskFiles) -> dict[str, Part]:
        """Return the examples of every part; raises DataError with every mistake of a file."""
        assert files.read is not None
        return {part: files.read(part, path, str(path)) for part, path in self.located(files).items()}

    def questions(self, files: TaskFiles, part: str, version: Version) -> SquadFile:
        """Return the questions of a part; raises DataError with every mistake of its file."""
        assert files.read_questions is not None
        path = self.located(files)[part]
        found = files.read_questions(part, path, str(path))
        assert isinstance(found, SquadFile)
        assert found.version == version
        return found


def _why_no_file(path: Path) -> str:
    if path.is_dir():
        return "a folder, not a file"
    return "a symbolic link that leads to no file" if path.is_symlink() else f"no such file{similar_name(path)}"


class TableTask(TableFormat, TableFiles):
    """A user's own task: files, their columns, metrics."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    kind: Literal["table"] = "table"
    """Chooses a table as the source of the task."""

    @property
    def format(self) -> TableFormat:
        """The task without the names of its files."""
        return TableFormat(**{name: getattr(self, name) for name in TableFormat.model_fields})

    @property
    def table_files(self) -> TableFiles:
        """The paths of train, dev and test, without the columns."""
        return TableFiles(train=self.train, dev=self.dev, test=self.test)

    @property
    def is_consistent(self) -> bool:
        """Whether the columns have one target, so that the task has a form."""
        return not any(True for _ in self.columns.violations())

    def violations(self) -> Iterator[Violation]:
        """Yield the contradictions in the declaration."""
        yield from (violation.under("columns") for violation in self.columns.violations())
        if (self.dev is None) == (self.dev_share is None):
            yield Violation(("dev",), "give either dev, a file, or dev_share, a share of the train file")
        for part in PARTS:
            path = getattr(self, part)
            if path is not None and format_of(path) is None:
                message = f"{path!r} ends in none of {', '.join(KNOWN)}; .gz or .xz may follow all but .parquet"
                yield Violation((part,), message)
            elif path is not None and self.is_consistent and is_conll(path, self) and not _is_tagged(self.columns):
                message = f"{path!r} has a word per line; only columns of text and tags can be read from it"
                yield Violation((part,), message)
        if self.is_consistent:
            yield from self._target_violations()

    def _target_violations(self) -> Iterator[Violation]:
        target = self.columns.predicted
        for position, metric in enumerate(self.metrics):
            allowed = SQUAD_METRICS if self.squad == "v2.0" else METRICS[target]
            if metric not in allowed:
                hint = did_you_mean(metric, allowed)
                message = f"{metric!r} is no metric of {target}; allowed: {', '.join(allowed)}.{hint}"
                yield Violation(("metrics", position), message)
            elif metric in self.metrics[:position]:
                yield Violation(("metrics", position), f"{metric!r} is listed twice")
        if "f1" in self.metrics and target == "label" and self.labels and len(self.labels) != 2:
            yield Violation(("metrics",), f"f1 is of two labels, and there are {len(self.labels)}; use macro_f1")
        if self.labels and target not in ("label", "tags"):
            yield Violation(("labels",), f"has no effect: the target is {target}")
        yield from listed_twice(self.labels, "labels")
        if len(self.labels) == 1:
            yield Violation(("labels",), "one label only; two or more are needed")
        if self.unlabelled and (target not in ("label", "value") or set(self.unlabelled) & set(self.labels)):
            both = ", ".join(sorted(set(self.unlabelled) & set(self.labels)))
            yield Violation(
                ("unlabelled",), f"{both} is a label too" if both else f"is of labels and values, not {target}"
            )
        if self.squad is not None and target != "answer":
            yield Violation(("squad",), f"needs columns of pair, answer and answer_start; the target is {target}")
        if self.value_range is not None and (target != "value" or self.value_range[0] >= self.value_range[1]):
            yield Violation(("value_range",), "needs a smallest value below a largest, and the column `value`")


def _is_tagged(columns: TableColumns) -> bool:
    return columns.tags is not None and columns.id is None


def repeated_in_train(train: Iterable[Example], dev: Iterable[Example]) -> int:
    """Return the number of dev examples whose texts are those of a train example."""
    seen = {texts_of(example) for example in train}
    return sum(texts_of(example) in seen for example in dev)


def texts_of(example: Example) -> tuple[str, ...]:
    """Return what makes two examples equal: their texts, without case and outer spaces."""
    return tuple(text.strip().lower() for text in (example.first, example.second or "", *example.endings))
