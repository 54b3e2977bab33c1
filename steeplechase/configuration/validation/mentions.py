"""Validation of objectives on mentions: they need the experiment's source of mentions."""

from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.experiment_objectives import objectives_of
from steeplechase.foundation.errors import Violation


def mention_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield that an objective reads mentions in an experiment without any."""
    if experiment.mentions is not None:
        return
    needing = {each.kind for each in objectives_of(experiment) if each.packing.reads_mentions}
    reason = "needs the experiment's mentions, where the text names entities. Write mentions: { kind: file, path: … }"
    if (kind := experiment.baseline.objective.kind) in needing:
        yield Violation(("baseline", "objective"), f"{kind} {reason}")
    elif needing:
        yield Violation(("design",), f"{', '.join(sorted(needing))} {reason}")
