"""Validation rules of rarified tasks and of embeddings of rare words."""

from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.rarified import FORMS, RareWordsTask, RarifiedTask


def rarified_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the contradictions in own tasks of `kind: rarified` and `rare_words`, under `fine_tuning`."""
    tuning = experiment.fine_tuning
    for name, own in tuning.own_tasks.items():
        location = ("own_tasks", name)
        if isinstance(own, RarifiedTask):
            if own.fewest_occurrences >= own.rarer_than:
                message = f"{own.fewest_occurrences} is not below rarer_than, {own.rarer_than}; no synonym is left"
                yield Violation((*location, "fewest_occurrences"), message)
            if name in tuning.known_tasks and not _has_labels(tuning.find(name)):
                yield Violation((*location, "of"), f"{own.of!r} has no label of one text or of a pair")
        if isinstance(own, RareWordsTask):
            yield from (violation.under(*location) for violation in _embedding_violations(experiment, name, own))


def _embedding_violations(experiment: Experiment, name: str, own: RareWordsTask) -> Iterator[Violation]:
    tuning, probe = experiment.fine_tuning, experiment.pretraining.hurdle.probe
    rarified = tuning.own_tasks.get(own.of)
    if isinstance(rarified, RarifiedTask) and rarified.rarer_than > own.occurrences:
        message = f"{own.occurrences} is below rarer_than of {own.of}, {rarified.rarer_than}: a word would be both"
        yield Violation(("occurrences",), message)
    yield from (violation.under("embeddings") for violation in _architecture_violations(experiment))
    if tuning.untrained_seeds and name in tuning.tasks:
        message = "an untrained encoder has no embeddings that could be mimicked; remove untrained_seeds"
        yield Violation(("embeddings",), message)
    if probe is not None and probe.task == name:
        yield Violation(("embeddings",), "a probe at hurdles has none; probe another task")


def _has_labels(task: DownstreamTask) -> bool:
    return task.form in FORMS and task.method == "fine_tune" and task.value_range is None


def _architecture_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the architectures whose token tables cannot take further words."""
    for arm in experiment.accepted_arms:
        if arm.candidate.architecture.is_counted:
            yield Violation((), f"needs the encoder's token table; the architecture of {arm.name} is of kind module")
            return
        if arm.candidate.architecture.supersenses:
            yield Violation((), f"rare words have no supersenses, and the architecture of {arm.name} reads them")
            return
