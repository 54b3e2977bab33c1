"""The one rule on names of metrics: `held_out_loss`, `score`, a task for its primary metric, or `task:metric`."""

from collections.abc import Iterable

from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.metrics import SCORE, comparable_metrics
from steeplechase.foundation.errors import did_you_mean
from steeplechase.tasks.own_metrics import name_of


def unmeasured(name: str, tuning: FineTuning, others: Iterable[str] = (), any_scale: bool = False) -> str | None:
    """Return why arms have no value of a metric; None if they have one.

    `others` are further names that are measured. With `any_scale` the tasks need not be listed: another scale of the
    file may list them.
    """
    listed = (*comparable_metrics(tuning.tasks), *others)
    task, colon, further = name.partition(":")
    accepted = (*listed, SCORE, *tuning.known_tasks) if any_scale else listed
    if task not in accepted:
        no_tasks = "" if tuning.tasks else " fine_tuning.tasks is empty."
        return f"{name!r} is not measured here. Allowed: {', '.join(listed)}.{no_tasks}{did_you_mean(name, accepted)}"
    if not colon or (task in tuning.tasks and task not in tuning.known_tasks):  # which has its own violation
        return None
    primary, *known = tuning.find(task).metrics if task in tuning.known_tasks else (task,)
    known += [name_of(reference) for reference in tuning.metrics.get(task, ())]
    if further.partition(".")[0] in known:  # a function's metrics by name are known once it is called
        return None
    measured, _, split = further.partition(" ")  # `bleu test` is that of the further split test
    if measured in known or (split and measured == primary):
        return None
    if measured == primary:
        return f"{name!r} is the primary metric of the task. Write {task!r}"
    allowed = f" Allowed: {', '.join(known)}.{did_you_mean(further, known)}" if known else ""
    return f"{task!r} has no further metric {further!r}.{allowed}"
