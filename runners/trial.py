"""A trial on its course: its stages, what has become of them, and which may start now."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from runners.records import Status, TrialRow
from runners.stages.stage import Stage


@dataclass
class Trial:
    """What is left of a candidate at one pretraining seed, and why."""

    row: TrialRow
    cohort: int
    stages: dict[str, Stage]
    marks: tuple[str, ...]
    """Labels of the pretraining stages."""
    statuses: dict[str, Status] = field(default_factory=dict)
    losses: list[float | None] = field(default_factory=list)
    """Held-out loss at each mark reached."""
    decided: dict[int, bool] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)

    @property
    def barred(self) -> bool:
        """Whether it goes no further: stopped at a hurdle, or its pretraining has failed or diverged."""
        pretrained = (self.statuses.get(label) for label in self.marks)
        return not all(self.decided.values()) or any(
            status in (Status.DIVERGED, Status.FAILED) for status in pretrained
        )

    @property
    def ended(self) -> bool:
        """Whether nothing of it will run any more."""
        return not self.running and (self.barred or all(label in self.statuses for label in self.stages))

    def startable(self) -> Iterator[str]:
        """Yield the stages that may start now: the next pretraining stage, or any fine-tuning behind the last."""
        if self.barred:
            return
        for label in self.stages:
            if label not in self.statuses and label not in self.running:
                yield label
            if label in self.marks and label not in self.statuses:
                return  # whatever follows reads this stage
