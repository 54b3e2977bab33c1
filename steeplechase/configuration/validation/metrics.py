"""Rules on metrics: names, equivalence margins, and `fine_tuning.metrics`, the metrics of a user's own."""

from collections.abc import Iterable, Iterator, Mapping

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.metrics import SCORE, comparable_metrics
from steeplechase.configuration.plugins import plugin_of
from steeplechase.foundation.errors import DataError, Violation, did_you_mean, listed_twice
from steeplechase.tasks.own_metrics import function_of, module_of, name_of


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


def margin_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the margins of unknown metrics; a known task that is not listed here may be another scale's."""
    yield from _unknown(experiment, ("equivalence_margin",), experiment.equivalence_margin)
    if experiment.paper is not None:
        yield from _unknown(experiment, ("paper", "margins"), experiment.paper.margins)


def _unknown(experiment: Experiment, location: tuple[str, ...], margins: Mapping[str, float]) -> Iterator[Violation]:
    for metric in margins:
        if reason := unmeasured(metric, experiment.fine_tuning, any_scale=True):
            yield Violation((*location, metric), reason)


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
