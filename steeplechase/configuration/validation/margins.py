"""Validation rules of equivalence margins: each is of a metric that some scale of a file can measure."""

from collections.abc import Iterator, Mapping

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.metric_names import unmeasured
from steeplechase.foundation.errors import Violation


def margin_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the margins of unknown metrics; a known task that is not listed here may be another scale's."""
    yield from _unknown(experiment, ("equivalence_margin",), experiment.equivalence_margin)
    if experiment.paper is not None:
        yield from _unknown(experiment, ("paper", "margins"), experiment.paper.margins)


def _unknown(experiment: Experiment, location: tuple[str, ...], margins: Mapping[str, float]) -> Iterator[Violation]:
    for metric in margins:
        if reason := unmeasured(metric, experiment.fine_tuning, any_scale=True):
            yield Violation((*location, metric), reason)
