"""Metrics without a value: what the examples alone leave undefined. No numpy, so that `plan` answers at once."""

from collections.abc import Sequence

from steeplechase.tasks.labelled.task import DownstreamTask

OF_ENTITIES = ("entity", "supersense")
OUTSIDE = "O"


def without_value(task: DownstreamTask, references: Sequence[float] | Sequence[str]) -> dict[str, str]:
    """Return the metrics that have no value whatever is predicted, each with the reason.

    A correlation needs two different references, F1 of the second label one example with it, metrics of entities one
    entity. Where predictions alone are constant, a correlation is 0.
    """
    if task.form == "tags":
        tags = {task.labels[int(tag)] for tag in references}
        reason = "no tag is one of an entity"
        return {metric: reason for metric in task.metrics if metric.startswith(OF_ENTITIES) and tags <= {OUTSIDE}}
    different = set(references)
    if task.value_range is not None and len(different) == 1:
        return dict.fromkeys(task.metrics, f"all {len(references)} examples have the value {float(references[0]):g}")
    if task.value_range is not None or task.form == "span":
        return {}
    one = f"all {len(references)} examples have the label {task.labels[int(references[0])]!r}"
    absent = {metric: one for metric in task.metrics if metric == "matthews" and len(different) == 1}
    if "f1" in task.metrics and 1 not in different:
        absent["f1"] = f"no example has the label {task.labels[1]!r}"
    return absent
