"""Which tasks measure something: those on which the mean over all arms exceeds every reference.

A comparison on a task where nothing exceeds what is known without pretraining lacks assay sensitivity (ICH E10, 2000,
section 1.5). The test is fixed beforehand and does not look at differences between arms: the mean over the means of
all arms against chance, the bag of words, the n-gram model, the rules of extractive questions and the untrained
encoder, one-sided at 5%, with the standard deviation pooled over arms and untrained encoders. The level is not
corrected for the number of references, because all of them must be exceeded (Berger 1982, 10.2307/1270797). A task
without any reference but an untrained encoder is below what is not known: nothing is claimed on it either.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.distributions import t_upper
from steeplechase.configuration.metrics import PrimaryMetric
from steeplechase.ledger.metrics import ArmValues, means_of, nested_values_of
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.task_references import TITLES, UNTRAINED_ENCODER, TaskReferences, references_of

UNKNOWN_REFERENCE = "unknown"
"""In place of the references that were missed where a task has none."""


@dataclass(frozen=True)
class TaskStanding:
    """A task's mean over all arms against its references."""

    references: TaskReferences
    mean: float
    missed: tuple[str, ...]
    """The references that the mean does not exceed; of a task without any, that none is known."""
    known: bool
    """Whether there is a spread to test with."""

    @property
    def missed_text(self) -> str:
        """The references that the mean does not exceed, with their scores."""
        known = self.references.known
        texts = [f"{TITLES[name]} {known[name]:.1f}" for name in self.missed if name in known]
        return ", ".join(texts) or "any reference, as there is not one"

    @property
    def below(self) -> bool:
        """Whether a reference is not exceeded; not where no spread is known."""
        return self.known and bool(self.missed)


def standing_of(references: TaskReferences, samples: Sequence[Sequence[float]]) -> TaskStanding | None:
    """Return the standing of a task with the values of each arm; None without values."""
    arms = [sample for sample in samples if sample]
    if not arms:
        return None
    mean = fmean(map(fmean, arms))
    spread, degrees = pooled([*arms, references.untrained])
    missed = () if spread is None else tuple(_missed(references, arms, mean, spread, degrees))
    missed = missed if references.without_network or spread is None else (UNKNOWN_REFERENCE,)
    return TaskStanding(references, mean, missed, spread is not None)


def _missed(
    references: TaskReferences, arms: Sequence[Sequence[float]], mean: float, spread: float, degrees: int
) -> Iterator[str]:
    of_arms = sum(1 / len(sample) for sample in arms) / len(arms) ** 2
    for name, reference in references.known.items():
        error = spread * (of_arms + (1 / len(references.untrained) if name == UNTRAINED_ENCODER else 0.0)) ** 0.5
        above = float(t_upper((mean - reference) / error, degrees)) <= ALPHA if error else mean > reference
        if not above:
            yield name


def standings(
    references: Mapping[str, TaskReferences], values: ArmValues, tasks: Sequence[str]
) -> dict[str, TaskStanding]:
    """Return the standing of every task that has references and values."""
    found = {
        task: standing_of(references[task], [[*by_metric.get(task, {}).values()] for by_metric in values.values()])
        for task in tasks
        if task in references
    }
    return {task: standing for task, standing in found.items() if standing is not None}


def task_standings(snapshot: Snapshot, tasks: Sequence[str], primary: PrimaryMetric) -> dict[str, TaskStanding]:
    """Return the standing of every task of an experiment that has references and values."""
    values = means_of(nested_values_of(snapshot, tasks, primary))
    return standings(references_of(snapshot.shared, primary, tasks), values, tasks)


def tasks_in_score(tasks: Sequence[str], found: Mapping[str, TaskStanding]) -> tuple[str, ...]:
    """Return the tasks that the score is the mean of: those that are not below a reference."""
    return tuple(task for task in tasks if task not in found or not found[task].below)


def pooled(samples: Sequence[Sequence[float]]) -> tuple[float | None, int]:
    """Return the pooled standard deviation of samples and its degrees of freedom; None where there are none."""
    degrees = sum(len(sample) - 1 for sample in samples if sample)
    if degrees == 0:
        return None, 0
    squares = sum((value - fmean(sample)) ** 2 for sample in samples for value in sample)
    return (squares / degrees) ** 0.5, degrees
