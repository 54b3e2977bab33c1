"""Metrics by name: the held-out loss, the score, tasks, and descriptive measurements."""

from collections.abc import Callable, Sequence

from steeplechase.tasks.downstream import find_task

HELD_OUT_LOSS, SCORE = "held_out_loss", "score"
ATTENTION_DIAGONAL = "attention_diagonal"
DESCRIPTIONS = (ATTENTION_DIAGONAL,)
"""Descriptive metrics without a better direction: compared, and allowed in claims, but without a verdict."""
COSTS = ("parameters", "train_flops")
"""Known before training, without a spread over seeds: allowed in claims alone, which they decide exactly."""
BUILT_IN_METRICS = (HELD_OUT_LOSS, SCORE, *DESCRIPTIONS, *COSTS)

PrimaryMetric = Callable[[str], str]
"""From a task's name to its primary metric."""


def primary_metric(task: str) -> str:
    """Return the task's primary metric."""
    return find_task(task).metrics[0]


def comparable_metrics(tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the metrics that arms are compared on; a task's name means its primary metric."""
    return (HELD_OUT_LOSS, *([SCORE] if tasks else []), *sorted(tasks))


def objectives_in_effect(declared: Sequence[str], scored: Sequence[str], losses_compare: bool) -> tuple[str, ...]:
    """Return what a search optimises: a score without a task above its references is no objective.

    The held-out loss takes its place where the losses of all candidates compare; if not, and nothing else is measured
    first, there is no objective.
    """
    if SCORE not in declared or scored:
        return tuple(declared)
    others = [HELD_OUT_LOSS if name == SCORE and losses_compare else name for name in declared]
    found = tuple(dict.fromkeys(name for name in others if name != SCORE))
    return found if HELD_OUT_LOSS in found else ()
