"""Downstream tasks of records whose plugin is not loaded: what their scores mean, without their examples."""

from collections.abc import Sequence
from typing import NoReturn

from steeplechase.foundation.schema import Schema, options_changed
from steeplechase.foundation.stand_ins import refuse
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.labelled.task import DownstreamTask, Form, Method

RECORDED: dict[str, DownstreamTask] = {}
"""By name; `add_recorded_task` keeps it."""


class RecordedTask(Schema):
    """The fields of a task that reports and plans of finished stages read, as `DownstreamTask` has them."""

    version: int
    form: Form
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    chance: float | None
    value_range: tuple[float, float] | None
    shortest_sequence: int
    long_sequences: bool
    unordered: bool
    method: Method
    ngram_reference: bool
    trains_encoder: bool

    @classmethod
    def of(cls, task: DownstreamTask) -> "RecordedTask":
        """Return what a ledger keeps of a task."""
        return cls(**{name: getattr(task, name) for name in cls.model_fields})


def add_recorded_task(name: str, recorded: RecordedTask) -> None:
    """Let a task be known by its fields alone; one whose file there is comes before it."""

    def build(documents: Sequence[Document], train: int, dev: int) -> NoReturn:
        refuse(name)

    RECORDED[name] = DownstreamTask(name, **dict(recorded), build=build)
    options_changed()


def forget_recorded_tasks() -> None:
    """Let those tasks alone be known whose files there are."""
    if RECORDED:
        RECORDED.clear()
        options_changed()
