"""Columns of a user's table by content; they determine the form of the task and its metrics."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Schema
from steeplechase.tasks.labelled.task import Form, Version
from steeplechase.tasks.text_metrics import LIBRARIES

LABEL_METRICS = ("accuracy", "f1", "macro_f1", "matthews")
VALUE_METRICS = ("spearman", "pearson")
TAG_METRICS = ("entity_f1", "entity_precision", "entity_recall", "accuracy")
METRICS: Mapping[str, tuple[str, ...]] = {
    "label": LABEL_METRICS,
    "value": VALUE_METRICS,
    "options": ("accuracy",),
    "tags": TAG_METRICS,
    "answer": ("f1", "exact_match"),
    "target": tuple(LIBRARIES),
}
"""Metrics by target."""
DEFAULTS: Mapping[str, tuple[str, ...]] = {**METRICS, "label": LABEL_METRICS[:1], "target": ("bleu", "chrf")}
"""Metrics by target where the declaration names none."""
SINGLE_TARGETS = ("label", "value", "tags", "answer", "target")

Column = Annotated[str, Field(min_length=1)] | int
"""A column by its name; in a file without a header by its number, from 1, or from the last one backwards as -1."""


def named(column: Column) -> str:
    """Return a column's name in messages."""
    return column if isinstance(column, str) else f"column {column}"


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Unlabelled = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int)]
"""What stands in the place of a label; a whole number may be written as one."""


class TableColumns(Schema):
    """Columns of a table by name, or by number; `text` and one target are required.

    `answers.text` is the field `text` inside the column `answers` of JSON and Parquet.
    """

    text: Column = Field(examples=["review"])
    """The text; of `tags` the words, of `options` the context, of `answer` the question, of `target` the source."""
    pair: Column | None = Field(default=None, examples=["hypothesis"])
    """The second text of a pair; of `answer` the context that contains it; of `options` what each begins with."""
    label: Column | None = Field(default=None, examples=["stars"])
    """The label; of `options` the index of the right one from 0, or its column."""
    value: Column | None = Field(default=None, examples=["similarity"])
    """The number to predict, in a regression."""
    options: tuple[Column, ...] = Field(default=(), examples=[["ending0", "ending1"]])
    """The columns of the endings of a multiple choice, two or more."""
    tags: Column | None = Field(default=None, examples=["tags"])
    """One tag per word; words and tags are lists, or text separated by spaces, or the columns of a CoNLL file."""
    answer: Column | None = Field(default=None, examples=["answer"])
    """The text of the answer, a part of `pair`; with `squad` a list of them too."""
    answer_start: Column | None = Field(default=None, examples=["answer_start"])
    """The index of the first character of the answer in `pair`, from 0."""
    target: Column | None = Field(default=None, examples=["summary"])
    """The text to write, such as a translation or a summary."""
    id: Column | None = Field(default=None, examples=["id"])
    """The identifier of a row; by default its number."""

    @property
    def predicted(self) -> str:
        """What is predicted: label, value, options, tags, answer or target."""
        if self.options:
            return "options"
        return next(name for name in SINGLE_TARGETS if getattr(self, name) is not None)

    @property
    def form(self) -> Form:
        """What the target columns make of the task, such as a classification or a regression."""
        forms: dict[str, Form] = {"options": "choice", "tags": "tags", "answer": "span", "target": "text_pair"}
        return forms.get(self.predicted, "single" if self.pair is None else "pair")

    @property
    def wanted(self) -> tuple[Column, ...]:
        """The required columns."""
        single = (getattr(self, name) for name in type(self).model_fields if name != "options")
        return tuple(dict.fromkeys([*(name for name in single if name is not None), *self.options]))

    def violations(self) -> Iterator[Violation]:
        """Yield the contradictions between the columns."""
        targets = [name for name in SINGLE_TARGETS if getattr(self, name) is not None]
        if len(targets) != 1:
            found = " and ".join(targets) or "none"
            yield Violation((), f"one target is needed: label, value, tags, answer or target; found {found}")
        if self.options and (targets != ["label"] or len(self.options) < 2):
            yield Violation(("options",), "a multiple choice needs text, label and two options or more")
        if self.answer is not None and (self.pair is None or self.answer_start is None):
            yield Violation(("answer",), "an answer needs pair, the text that contains it, and answer_start")
        if self.pair is not None and (self.tags is not None or self.target is not None):
            what = "tagged words have" if self.tags is not None else "a text with a target text has"
            yield Violation(("pair",), f"{what} no pair")
        if any(isinstance(each, int) for each in self.wanted) and any(isinstance(each, str) for each in self.wanted):
            yield Violation((), "some columns have names and some numbers; a file with a header has names alone")
        if 0 in self.wanted:
            yield Violation((), "columns are numbered from 1; -1 is the last one")
        for index, name in enumerate(self.options):
            if isinstance(name, str) and name.isdecimal() and int(name) != index and int(name) < len(self.options):
                message = f"the column {name!r} is option {index}, and a label {name} could mean either; rename it"
                yield Violation(("options", index), message)
        repeated = [name for name in self.wanted if [*self._all].count(name) > 1]
        yield from (Violation((), f"the column {name!r} is named twice") for name in repeated)

    @property
    def _all(self) -> Iterator[Column]:
        yield from (value for name in type(self).model_fields if isinstance(value := getattr(self, name), str | int))
        yield from self.options


class TableLayout(Schema):
    """How the rows of a table's files are read."""

    columns: TableColumns
    """Columns by content, by name or by number."""
    labels: tuple[str, ...] = Field(default=(), examples=[["negative", "positive"]])
    """Labels or tags in order; by default those of the train file, sorted. F1 is of the second of two labels. Whole
    numbers in the files are their indices from 0, unless a label is itself a number."""
    unlabelled: tuple[Unlabelled, ...] = Field(default=(), examples=[["-", -1]])
    """What stands where a row has no label or no value: -1, "-", "" for an empty cell. Such rows are left out."""
    quotes: bool = False
    """Whether cells of a .tsv may be in quotation marks, as pandas writes them; of a .csv they always may."""
    squad: Version | None = None
    """Reads answers as SQuAD of this version does: long contexts in overlapping windows, several answers of a
    question, starts that are wrong by a few characters, in v2.0 questions without an answer; the official metrics."""
