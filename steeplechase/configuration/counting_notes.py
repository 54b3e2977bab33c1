"""Notes on arms whose costs are not those of the closed form: counted on the built module, or pruned."""

from collections.abc import Iterable

from steeplechase.configuration.arm import Arm

COUNTED = (
    "parameters and FLOPs counted on the built module, FLOPs by torch's counter; where the module names no token "
    "embeddings, the output table of masked language modelling is included"
)


PRUNED = "pruned after pretraining: parameters are the most that may remain, FLOPs those of pretraining before"


def counting_note(arms: Iterable[Arm]) -> str | None:
    """Return the note with the names of such arms and of pruned ones, None without any."""
    arms = list(arms)
    counted = [arm.name for arm in arms if arm.candidate.architecture.is_counted]
    pruned = [arm.name for arm in arms if arm.candidate.recipe.pruning is not None]
    notes = [f"{', '.join(names)}: {note}" for names, note in ((counted, COUNTED), (pruned, PRUNED)) if names]
    return "; ".join(notes) or None
