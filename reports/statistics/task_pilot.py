"""The pilot of a scale: which tasks separate a trained encoder from every reference.

A comparison on a task where nothing exceeds what is known without pretraining lacks assay sensitivity (ICH E10, 2000,
section 1.5).  The rule of a pilot: a task enters a scale if an arm exceeds chance, the bag of words, the n-gram model
and the untrained encoder; that of a report is on the mean over all arms (`task_standing.py`). The standard deviation
is pooled over the arms and the untrained encoders, as pilots have few seeds; the level is corrected for the number of
arms (Bonferroni), and not for that of references, because all of them must be exceeded (Berger 1982,
10.2307/1270797).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from reports.statistics.results import Results
from steeplechase.analysis.difference import CONFIDENCE
from steeplechase.analysis.distributions import t_quantile
from steeplechase.ledger.task_references import UNTRAINED_ENCODER, TaskReferences, references_of
from steeplechase.ledger.task_standing import pooled


@dataclass(frozen=True)
class PilotedArm:
    """An arm on one task, against the task's references."""

    task: TaskReferences
    arm: str
    n: int
    mean: float
    low: float | None
    high: float | None
    """95% interval of the mean over seeds, corrected for the number of arms; None where no spread is known."""
    exceeded: tuple[str, ...]
    """The references whose interval of the difference lies above 0."""

    @property
    def qualifies(self) -> bool | None:
        """Whether every reference is exceeded; None where no spread is known or there is no untrained encoder."""
        if self.low is None or not self.task.untrained:
            return None
        return set(self.exceeded) == set(self.task.known)


def pilot_of(results: Results) -> tuple[PilotedArm, ...]:
    """Return every arm on every task that it has scores on, in the order of the tasks' names and of the table."""
    references = references_of(results.snapshot.shared, results.primary)
    return tuple(
        piloted for name in results.tasks if name in references for piloted in _of_task(results, references[name])
    )


def qualifying_tasks(piloted: Iterable[PilotedArm]) -> tuple[str, ...]:
    """Return the tasks on which an arm qualifies, sorted."""
    return tuple(sorted({one.task.task for one in piloted if one.qualifies}))


def _of_task(results: Results, references: TaskReferences) -> Iterable[PilotedArm]:
    values = {arm.name: [*results.values.get(arm.name, {}).get(references.task, {}).values()] for arm in results.arms}
    values = {arm: sample for arm, sample in values.items() if sample}
    spread, degrees = pooled([*values.values(), references.untrained])
    for arm, sample in values.items():
        mean, width = fmean(sample), None
        if spread is not None:
            width = spread * float(t_quantile((1 - CONFIDENCE) / len(values), degrees))
        yield PilotedArm(
            task=references,
            arm=arm,
            n=len(sample),
            mean=mean,
            low=None if width is None else mean - width / len(sample) ** 0.5,
            high=None if width is None else mean + width / len(sample) ** 0.5,
            exceeded=() if width is None else tuple(_exceeded(references, mean, len(sample), width)),
        )


def _exceeded(references: TaskReferences, mean: float, n: int, width: float) -> Iterable[str]:
    for name, reference in references.known.items():
        variance = 1 / n + (1 / len(references.untrained) if name == UNTRAINED_ENCODER else 0.0)
        if mean - reference > width * variance**0.5:
            yield name
