"""Validation rules of arms whose architecture is any module: what needs the encoder's blocks is refused."""

from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation
from steeplechase.tasks.downstream import find_task, task_names

LINEAR_PROBE = "linear_probe"


def module_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the parts of the experiment that a module without named blocks cannot take part in."""
    arms = [arm.name for arm in experiment.accepted_arms if arm.candidate.architecture.is_counted]
    if not arms:
        return
    reason = f"needs the encoder's blocks; the architecture of {arms[0]} is of kind module"
    if experiment.measure.attention_diagonal is not None:
        yield Violation(("measure", "attention_diagonal"), reason)
    if experiment.initial_checkpoint(experiment.baseline) is not None:
        yield Violation(("pretraining", "init_checkpoint"), reason)
    if experiment.fine_tuning.layer_rate_decay != 1:
        yield Violation(("fine_tuning", "layer_rate_decay"), reason)
    for position, task in enumerate(experiment.fine_tuning.tasks):
        if task in task_names() and find_task(task).method == LINEAR_PROBE:
            yield Violation(("fine_tuning", "tasks", position), f"{task} {reason}")
