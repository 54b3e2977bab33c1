"""Columns of a user's table by content; they determine the form of the task and its metrics."""

from collections.abc import Iterator, Mapping

from pydantic import Field

from foundation.errors import Violation
from foundation.schema import Schema
from tasks.labelled.task import Form

LABEL_METRICS = ("accuracy", "f1", "macro_f1", "matthews")
VALUE_METRICS = ("spearman", "pearson")
TAG_METRICS = ("entity_f1", "entity_precision", "entity_recall", "accuracy")
METRICS: Mapping[str, tuple[str, ...]] = {
    "label": LABEL_METRICS,
    "value": VALUE_METRICS,
    "options": ("accuracy",),
    "tags": TAG_METRICS,
    "answer": ("f1", "exact_match"),
}
"""Metrics by target."""


class TableColumns(Schema):
    """Column names of a table; `text` and one target are required."""

    text: str = Field(min_length=1, examples=["review"])
    """The text; of `tags` the words, of `options` the context, of `answer` the question."""
    pair: str | None = Field(default=None, examples=["hypothesis"])
    """The second text of a pair; of `answer` the context that contains the answer."""
    label: str | None = Field(default=None, examples=["stars"])
    """The label; of `options` the index of the right one from 0, or its column."""
    value: str | None = Field(default=None, examples=["similarity"])
    """The number to predict, in a regression."""
    options: tuple[str, ...] = Field(default=(), examples=[["ending0", "ending1"]])
    """The columns of the endings of a multiple choice, two or more."""
    tags: str | None = Field(default=None, examples=["tags"])
    """One tag per word; words and tags are lists, or text separated by spaces."""
    answer: str | None = Field(default=None, examples=["answer"])
    """The text of the answer, a part of `pair`."""
    answer_start: str | None = Field(default=None, examples=["answer_start"])
    """The index of the first character of the answer in `pair`, from 0."""
    id: str | None = Field(default=None, examples=["id"])
    """The identifier of a row; by default its number."""

    @property
    def target(self) -> str:
        """The target: label, value, options, tags or answer."""
        if self.options:
            return "options"
        return next(name for name in ("label", "value", "tags", "answer") if getattr(self, name) is not None)

    @property
    def form(self) -> Form:
        """The form of the task."""
        forms: dict[str, Form] = {"options": "choice", "tags": "tags", "answer": "span"}
        return forms.get(self.target, "single" if self.pair is None else "pair")

    @property
    def wanted(self) -> tuple[str, ...]:
        """The required columns."""
        single = (getattr(self, name) for name in type(self).model_fields if name != "options")
        return tuple(dict.fromkeys([*(name for name in single if name is not None), *self.options]))

    def violations(self) -> Iterator[Violation]:
        """Yield the contradictions between the columns."""
        targets = [name for name in ("label", "value", "tags", "answer") if getattr(self, name) is not None]
        if len(targets) != 1:
            found = " and ".join(targets) or "none"
            yield Violation((), f"one target is needed: label, value, tags or answer; found {found}")
        if self.options and (targets != ["label"] or len(self.options) < 2 or self.pair is not None):
            yield Violation(("options",), "a multiple choice needs text, label and two options or more, and no pair")
        if self.answer is not None and (self.pair is None or self.answer_start is None):
            yield Violation(("answer",), "an answer needs pair, the text that contains it, and answer_start")
        if self.tags is not None and self.pair is not None:
            yield Violation(("pair",), "tagged words have no pair")
        for index, name in enumerate(self.options):
            if name.isdecimal() and int(name) != index and int(name) < len(self.options):
                message = f"the column {name!r} is option {index}, and a label {name} could mean either; rename it"
                yield Violation(("options", index), message)
        repeated = [name for name in self.wanted if [*self._all].count(name) > 1]
        yield from (Violation((), f"the column {name!r} is named twice") for name in repeated)

    @property
    def _all(self) -> Iterator[str]:
        yield from (value for name in type(self).model_fields if isinstance(value := getattr(self, name), str))
        yield from self.options
