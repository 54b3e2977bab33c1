"""Validation of `fine_tuning.metrics`, the metrics of a user's own."""

from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.plugins import plugin_of
from steeplechase.foundation.errors import DataError, Violation, did_you_mean, listed_twice
from steeplechase.tasks.own_metrics import function_of, module_of, name_of


def own_metric_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield metrics of tasks that have none of them, of files that no plugin has, and names that are taken."""
    tuning = experiment.fine_tuning
    for task, references in tuning.metrics.items():
        location = ("fine_tuning", "metrics", task)
        if task not in tuning.tasks:
            known = ", ".join(tuning.tasks) or "none, fine_tuning.tasks is empty"
            yield Violation(location, f"is not among the tasks; allowed: {known}.{did_you_mean(task, tuning.tasks)}")
            continue
        yield from listed_twice([name_of(each) for each in references], *location)
        found = tuning.find(task) if task in tuning.known_tasks else None
        if found is not None and (found.squad is not None or found.method != "fine_tune"):
            yield Violation(location, f"{task} has the metrics of its official script, or a frozen encoder, alone")
        for position, reference in enumerate(references):
            if found is not None and name_of(reference) in found.metrics:
                message = f"{name_of(reference)} is a metric of {task} already; name the function otherwise"
                yield Violation((*location, position), message)
            elif reason := _reason(experiment, reference):
                yield Violation((*location, position), reason)


def _reason(experiment: Experiment, reference: str) -> str | None:
    """Return why a reference names no function of the experiment's plugins, None if it does."""
    plugin = plugin_of(module_of(reference))
    if plugin is None or plugin.sha256 not in {each.sha256 for each in experiment.plugins}:
        file = f"tasks/own_metrics/{reference.partition(':')[0]}.py"
        return f"{reference}: no folder of `plugins` has {file}"
    try:
        function_of(reference)
    except DataError as refusal:
        return refusal.lines[0]
    return None
