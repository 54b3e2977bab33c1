"""Validation of supersense embeddings: they need the lexicon of the experiment."""

from collections.abc import Iterator

from search_space.overrides import absolute_path
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation

FIELD = ("architecture", "supersenses")


def lexicon_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms, and a search's axis, with supersense embeddings in an experiment without a lexicon."""
    if experiment.lexicon is not None:
        return
    reason = "the experiment's lexicon, the supersenses of words. Write lexicon: { path: … }"
    if size := experiment.baseline.architecture.supersenses:
        yield Violation(("baseline", *FIELD), f"{size} needs {reason}")
        return
    names = [arm.name for arm in experiment.accepted_arms if arm.candidate.architecture.supersenses]
    search = experiment.search
    if search is not None:
        names += [path for path in search.space if absolute_path(path) == FIELD]
    if names:
        yield Violation(("design",), f"supersenses of {', '.join(names)} need {reason}")
