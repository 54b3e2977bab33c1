"""Tasks that an experiment declares itself: tables of examples, and tasks derived from others."""

from typing import Annotated

from pydantic import Field

from steeplechase.foundation.schema import OPTION
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.derived import (
    FeatureTask,
    RareWordsTask,
    RarifiedTask,
    ResolvedFeatures,
    ResolvedRarified,
    ResolvedVariant,
    VariantTask,
)
from steeplechase.tasks.own_tasks.table import TableFormat, TableTask

OwnTask = Annotated[TableTask | FeatureTask | VariantTask | RarifiedTask | RareWordsTask, OPTION]
"""A task as an experiment declares it."""

ResolvedTask = TableFormat | ResolvedFeatures | ResolvedVariant | ResolvedRarified
StageTask = Annotated[ResolvedTask, Field(discriminator="kind")]
"""A task as a stage reads it: without the names of files, with the labels of its table."""


def task_named(name: str, own_task: ResolvedTask | None) -> DownstreamTask:
    """Return the task of a stage; raises ConfigurationError if it is neither declared nor known."""
    if own_task is None:
        return find_task(name)
    if isinstance(own_task, ResolvedFeatures | ResolvedVariant | ResolvedRarified):
        return own_task.task(name, task_named(own_task.of, own_task.table))
    return own_task.task(name)
