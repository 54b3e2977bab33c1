"""A device that the trials need and this machine lacks: said by `plan`, refused before the first stage."""

from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.environment import gpu_missing

ARMS_NAMED = 4


def missing_device(experiment: Experiment) -> Iterator[str]:
    """Yield a line if arms train on a GPU and this machine has none."""
    names = [arm.name for arm in experiment.arms if arm.candidate.recipe.device == "cuda"]
    reason = gpu_missing() if names else None
    if reason is not None:
        more = f" and {len(names) - ARMS_NAMED} more" if len(names) > ARMS_NAMED else ""
        named = "every arm" if len(names) == len(experiment.arms) else ", ".join(names[:ARMS_NAMED]) + more
        yield (
            f"recipe.device: cuda of {named} is not available on this machine: {reason}; allowed here: cpu. "
            "A Ray cluster with GPUs is used by --engine ray --address"
        )
