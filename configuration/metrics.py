"""What arms are compared on, by name: the held-out loss, the score, tasks, and what describes an arm."""

from collections.abc import Callable

from tasks.downstream import find_task

HELD_OUT_LOSS, SCORE = "held_out_loss", "score"
ATTENTION_DIAGONAL = "attention_diagonal"
DESCRIPTIONS = (ATTENTION_DIAGONAL,)
"""What describes an arm and is neither better nor worse: compared and claimed about, never judged."""

PrimaryMetric = Callable[[str], str]
"""From a task's name to the metric that speaks for it."""


def primary_metric(task: str) -> str:
    """Return the metric that speaks for a task."""
    return find_task(task).metrics[0]


def comparable_metrics(tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return what arms can be compared on by name, a task standing for its primary metric."""
    return (HELD_OUT_LOSS, *([SCORE] if tasks else []), *sorted(tasks))
