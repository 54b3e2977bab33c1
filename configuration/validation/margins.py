"""Validation rules of equivalence margins: each is of a metric that some scale of a file can measure."""

from collections.abc import Iterator, Mapping

from configuration.experiment import Experiment
from configuration.metrics import HELD_OUT_LOSS, SCORE
from foundation.errors import Violation, did_you_mean


def margin_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the margins of unknown metrics; a known task that is not listed here may be another scale's."""
    yield from _unknown(experiment, ("equivalence_margin",), experiment.equivalence_margin)
    if experiment.paper is not None:
        yield from _unknown(experiment, ("paper", "margins"), experiment.paper.margins)


def _unknown(experiment: Experiment, location: tuple[str, ...], margins: Mapping[str, float]) -> Iterator[Violation]:
    tuning = experiment.fine_tuning
    listed = (HELD_OUT_LOSS, SCORE, *sorted(tuning.tasks))
    known = {*listed, *tuning.known_tasks}
    for metric in margins:
        task, _, further = metric.partition(":")
        if task not in known:
            hint = did_you_mean(metric, list(known))
            yield Violation((*location, metric), f"{metric!r} is no metric. Allowed: {', '.join(listed)}.{hint}")
        elif further and (task not in tuning.known_tasks or further not in tuning.find(task).metrics[1:]):
            yield Violation((*location, metric), f"{task!r} has no further metric {further!r}")
