"""Downstream tasks: each is one file here that declares `TASK`; its file name is its name in an experiment."""

import difflib
import importlib
from pathlib import Path

from foundation.errors import ConfigurationError
from tasks.labelled.task import DownstreamTask

WORKSHOP = frozenset({"task", "drawing", "sentences", "parameters", "encoding", "halves", "scoring"})
"""Files here that are not tasks."""


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks, sorted."""
    stems = {path.stem for path in Path(__file__).parent.glob("*.py")}
    return tuple(sorted(stem for stem in stems - WORKSHOP if not stem.startswith("_")))


def find_task(name: str) -> DownstreamTask:
    """Return a task by its file's name; raises ConfigurationError for an unknown one."""
    known = task_names()
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise ConfigurationError(f"{name!r} is not a downstream task; known are {', '.join(known)}.{hint}")
    task = importlib.import_module(f"{__name__}.{name}").TASK
    assert isinstance(task, DownstreamTask), f"{name}.TASK"
    assert task.name == name, f"{name}.TASK is named {task.name!r}"
    return task
