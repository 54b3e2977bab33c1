"""Downstream tasks: each file declares one as `TASK`, and its file name is the task's name in an experiment."""

import importlib
from functools import cache
from pathlib import Path

from foundation.errors import ConfigurationError, did_you_mean
from tasks.labelled.task import DownstreamTask


@cache
def task_names() -> tuple[str, ...]:
    """Return the names of all tasks in alphabetical order."""
    stems = {path.stem for path in Path(__file__).parent.glob("*.py")}
    return tuple(sorted(stem for stem in stems if not stem.startswith("_")))


def find_task(name: str) -> DownstreamTask:
    """Return a task by name. Raises ConfigurationError, with a suggestion, for an unknown name."""
    known = task_names()
    if name not in known:
        hint = did_you_mean(name, known, written=str)
        raise ConfigurationError(f"{name!r} is not a downstream task; known: {', '.join(known)}.{hint}")
    task = importlib.import_module(f"{__name__}.{name}").TASK
    assert isinstance(task, DownstreamTask), f"{name}.TASK"
    assert task.name == name, f"{name}.TASK is named {task.name!r}"
    return task
