"""A user's metrics, tried before any stage: on invented predictions of a task's own labels, values or texts.

A metric that fails on all of them is refused, since it would end the run once trials have been trained. One that
fails on some, such as a recall that divides by the number of hits, is a warning.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from runners.task_sources import task_source
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_metrics import own_scores

RIGHT = "of the right answers"
CONSTANTS_AT_MOST = 10
"""Labels of which each is tried as the one answer to everything."""
TEXTS = ("a text", "another text")


def refuse_failing_metrics(tuning: FineTuning) -> None:
    """Raise DataError with the metrics of a user's own that fail on everything they are tried on."""
    lines = [
        f"{setting}: {failures[RIGHT]}; tried on invented predictions of the task's own answers, before any stage"
        for setting, failures, tries in _tried(tuning)
        if len(failures) == tries
    ]
    if lines:
        raise DataError(lines)


def metric_warnings(tuning: FineTuning) -> Iterator[str]:
    """Yield a line for each metric that fails on some of what it is tried on."""
    for setting, failures, tries in _tried(tuning):
        if 0 < len(failures) < tries:
            what, failure = next(iter(failures.items()))
            remedy = "where a model predicts so, the metric has no value; NaN says the same"
            yield f"{setting}: fails on predictions {what}: {failure}; {remedy}"


def _tried(tuning: FineTuning) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield the setting of each metric, its failures by what it was tried on, and the number of tries."""
    for name, functions in tuning.metrics.items():
        try:
            references, tries = _tries(task_source(tuning, name).task)
        except DataError:  # an error elsewhere
            continue
        for function in functions:
            failures: dict[str, str] = {}
            for what, predictions in tries.items():
                try:
                    own_scores(function, references, predictions)
                except DataError as failure:
                    failures[what] = failure.lines[0]
            yield f"fine_tuning.metrics.{name}", failures, len(tries)


def _tries(task: DownstreamTask) -> tuple[Sequence[Any], dict[str, Sequence[Any]]]:
    """Return invented references of a task, and the predictions to try with what they are."""
    if task.value_range is not None:
        low, high = task.value_range
        answers: Sequence[Any] = [low, (low + high) / 2, high]
    else:
        answers = task.labels or TEXTS
    constants = {f"that are all {each!r}": [each] * (2 * len(answers)) for each in answers[:CONSTANTS_AT_MOST]}
    tries: dict[str, Sequence[Any]] = {RIGHT: [*answers, *answers], **constants}
    if task.form == "tags":  # a list per sentence
        tries = {what: [each] for what, each in tries.items()}
    return tries[RIGHT], tries
