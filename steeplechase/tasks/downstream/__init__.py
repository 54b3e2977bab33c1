"""Downstream tasks: published data sets in groups; any other task is in a file of its name, which declares `TASK`."""

import pkgutil
from importlib.util import find_spec

from steeplechase.foundation.errors import ConfigurationError, did_you_mean
from steeplechase.foundation.option_modules import module_named
from steeplechase.foundation.schema import cached_until_options_change
from steeplechase.tasks.downstream import choices, glue, squad, tagged_words, text_pairs
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.recorded_tasks import RECORDED

GROUPS = (choices, glue, squad, tagged_words, text_pairs)
"""Each declares several tasks as `TASKS`."""
PUBLISHED: dict[str, DownstreamTask] = {task.name: task for group in GROUPS for task in group.TASKS}


@cached_until_options_change
def task_names() -> tuple[str, ...]:
    """Return the names of all tasks in alphabetical order, those of plugins included."""
    groups = {group.__name__.rpartition(".")[2] for group in GROUPS}
    files = {module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")}
    return tuple(sorted({*(files - groups), *PUBLISHED, *RECORDED}))


def find_task(name: str) -> DownstreamTask:
    """Return a task by name. Raises ConfigurationError, with a suggestion, for an unknown name."""
    known = task_names()
    if name not in known:
        hint = did_you_mean(name, known, written=str)
        raise ConfigurationError(f"{name!r} is not a downstream task; known: {', '.join(known)}.{hint}")
    if name in PUBLISHED:
        return PUBLISHED[name]
    if name in RECORDED and find_spec(f"{__name__}.{name}") is None:
        return RECORDED[name]
    task = module_named(__name__, name).TASK
    assert isinstance(task, DownstreamTask), f"{name}.TASK"
    assert task.name == name, f"{name}.TASK is named {task.name!r}"
    return task
