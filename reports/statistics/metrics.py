"""Metrics on which arms are compared: the held-out loss, the tasks' metrics, and the score, their mean."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steeplechase.configuration.metrics import ATTENTION_DIAGONAL, DESCRIPTIONS, HELD_OUT_LOSS, SCORE

TITLES = {HELD_OUT_LOSS: "held-out loss", ATTENTION_DIAGONAL: "attention diagonal C"}


@dataclass(frozen=True)
class Metric:
    """One column group of a table. `task` names a task's primary metric, `task:metric` a further one."""

    name: str

    @property
    def title(self) -> str:
        """The name for display."""
        return TITLES.get(self.name, self.name.replace(":", ": "))

    @property
    def task(self) -> str:
        """The task that it is a metric of; the name itself of a metric of no task."""
        return self.name.partition(":")[0]

    @property
    def lower_is_better(self) -> bool:
        """Whether lower values are better."""
        return self.name == HELD_OUT_LOSS

    @property
    def further(self) -> bool:
        """Whether it is a secondary metric of a task."""
        return ":" in self.name

    def best(self, means: Mapping[str, float]) -> str:
        """Return the arm with the best mean; the first one if several are equal."""
        return min(means, key=lambda arm: means[arm] if self.lower_is_better else -means[arm])

    def better(self, first: float, second: float) -> bool:
        """Whether the first value is strictly better."""
        return first < second if self.lower_is_better else first > second


def below_reference_text(metric: Metric) -> str:
    """Return why a claim on a metric of a task below a reference is not tested."""
    return f"on {metric.task} the arms do not exceed every reference"


def in_place_of_score(name: str, tasks: Sequence[str]) -> str:
    """Return a metric's name; the task's instead of the score where there is a single task, since they are equal."""
    return tasks[0] if name == SCORE and len(tasks) == 1 else name


def ordered(tasks: Iterable[str], measured: Iterable[str]) -> tuple[Metric, ...]:
    """Return held-out loss, score, then each task by name followed by its further metrics by name."""
    names = sorted(set(tasks) | (set(measured) - {HELD_OUT_LOSS, SCORE, *DESCRIPTIONS}))
    scores = [SCORE] if names else []
    return tuple(Metric(name) for name in (HELD_OUT_LOSS, *scores, *names))
