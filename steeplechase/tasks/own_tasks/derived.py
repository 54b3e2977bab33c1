"""A task that an experiment derives from another one: the same labels and metrics, read or asked differently."""

from abc import abstractmethod

from pydantic import Field

from steeplechase.foundation.schema import Schema
from steeplechase.tasks.labelled.task import DownstreamTask


class DerivedTask(Schema):
    """A task of another name; its examples and labels are those of a known task or of a table."""

    of: str = Field(min_length=1, examples=["conll2003"])
    """The task by name: a known one, or a table of `own_tasks`."""

    @abstractmethod
    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of this name that is derived from `base`."""
