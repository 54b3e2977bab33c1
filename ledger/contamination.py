"""Leakage: how much of a task's dev set the pretraining text holds, and how much of it may be."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.proportions import wilson
from configuration.experiment import Experiment
from foundation.errors import DataError
from ledger.records import Record, with_results
from ledger.stage_results import ContaminationResult


@dataclass(frozen=True)
class Leakage:
    """Of one task: its dev examples that have a sentence or 13 words in a row in the pretraining text."""

    task: str
    examples: int
    told: int
    """Examples that are long enough to tell."""
    overlapping: int
    sentences: int
    runs: int
    first: tuple[str, ...]
    """The first few, and where their text stands."""

    @property
    def share(self) -> float:
        """Of the examples that are long enough to tell."""
        return self.overlapping / self.told if self.told else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, 95%; everything where no example could be told."""
        return wilson(self.overlapping, self.told) if self.told else (0.0, 1.0)

    @property
    def told_share(self) -> str:
        """The share in words, with its interval and n."""
        low, high = self.interval
        counts = f"{self.overlapping} of {self.told} dev examples"
        short = f", {self.examples - self.told} more too short to tell" if self.told < self.examples else ""
        return f"{counts} ({100 * self.share:.2f}% [{100 * low:.2f}, {100 * high:.2f}]{short})"


def leakages(records: Iterable[Record]) -> Iterator[Leakage]:
    """Yield what the finished records tell, task by task in the order of their names."""
    by_task = {result.task: result for _, result in with_results(records, ContaminationResult)}
    for task in sorted(by_task):
        one = by_task[task]
        yield Leakage(task, one.examples, one.told, one.overlapping, one.sentences, one.runs, one.first)


def refuse_leakage(experiment: Experiment, records: Iterable[Record]) -> None:
    """Raise DataError where more of a dev set stands in the pretraining text than `max_overlap` allows."""
    limit = experiment.fine_tuning.max_overlap
    lines = [_told(one, limit) for one in leakages(records) if limit is not None and one.share > limit]
    if lines:
        advice = "Did you mean another corpus, without these texts, or a larger fine_tuning.max_overlap?"
        raise DataError([*lines, advice])


def _told(found: Leakage, limit: float) -> str:
    kinds = f"{found.sentences} by a whole sentence, {found.runs} by 13 words in a row"
    named = ", ".join(found.first) + (", …" if found.overlapping > len(found.first) else "")
    counts = f"{found.told_share} stand in the pretraining text ({kinds})"
    return f"fine_tuning.max_overlap: {found.task}: {counts}, more than {100 * limit:g}%: {named}"
