"""Downstream tasks: each file declares one as `TASK`, and its file name is the task's name in an experiment."""

import pkgutil
from importlib.util import find_spec

from steeplechase.foundation.errors import ConfigurationError, did_you_mean
from steeplechase.foundation.option_modules import module_named
from steeplechase.foundation.schema import cached_until_options_change
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.recorded_tasks import RECORDED


@cached_until_options_change
def task_names() -> tuple[str, ...]:
    """Return the names of all tasks in alphabetical order, those of plugins included."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted({*(name for name in names if not name.startswith("_")), *RECORDED}))


def find_task(name: str) -> DownstreamTask:
    """Return a task by name. Raises ConfigurationError, with a suggestion, for an unknown name."""
    known = task_names()
    if name not in known:
        hint = did_you_mean(name, known, written=str)
        raise ConfigurationError(f"{name!r} is not a downstream task; known: {', '.join(known)}.{hint}")
    if name in RECORDED and find_spec(f"{__name__}.{name}") is None:
        return RECORDED[name]
    task = module_named(__name__, name).TASK
    assert isinstance(task, DownstreamTask), f"{name}.TASK"
    assert task.name == name, f"{name}.TASK is named {task.name!r}"
    return task
