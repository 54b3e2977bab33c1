"""A note on arms whose costs are counted on the built module, in place of the closed form."""

from collections.abc import Iterable

from configuration.arm import Arm

COUNTED = (
    "parameters and FLOPs counted on the built module, FLOPs by torch's counter; where the module names no token "
    "embeddings, the output table of masked language modelling is included"
)


def counting_note(arms: Iterable[Arm]) -> str | None:
    """Return the note with the names of such arms, None without any."""
    names = [arm.name for arm in arms if arm.candidate.architecture.is_counted]
    return f"{', '.join(names)}: {COUNTED}" if names else None
