"""`kind: variant`, a task under another name, for which `by_task` has settings of its own."""

from dataclasses import replace
from typing import Literal

from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.derived import DerivedTask
from steeplechase.tasks.own_tasks.table import TableFormat


class VariantTask(DerivedTask):
    """The same examples and metrics under another name: one model, fine-tuned with several settings."""

    kind: Literal["variant"] = "variant"
    """Chooses a task under another name."""

    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of another name."""
        return replace(base, name=name, evaluate=None)


class ResolvedVariant(VariantTask):
    """The task with the format of its table, for a stage."""

    table: TableFormat | None = None
    """None for a known task."""
