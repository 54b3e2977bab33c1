"""Leakage: how much of a task's dev set the pretraining text holds, and how much of it may be."""

from collections.abc import Iterable, Iterator

from configuration.experiment import Experiment
from foundation.errors import DataError
from ledger.records import Record, with_results
from ledger.stage_results import ContaminationResult


def leakages(records: Iterable[Record]) -> Iterator[ContaminationResult]:
    """Yield what the finished records tell, task by task in the order of their names."""
    by_task = {result.task: result for _, result in with_results(records, ContaminationResult)}
    for task in sorted(by_task):
        yield by_task[task]


def refuse_leakage(experiment: Experiment, records: Iterable[Record]) -> None:
    """Raise DataError where more of a dev set stands in the pretraining text than `max_overlap` allows."""
    limit = experiment.fine_tuning.max_overlap
    lines = [_told(one, limit) for one in leakages(records) if limit is not None and one.share > limit]
    if lines:
        advice = "Did you mean another corpus, without these texts, or a larger fine_tuning.max_overlap?"
        raise DataError([*lines, advice])


def _told(found: ContaminationResult, limit: float) -> str:
    kinds = f"{found.sentences} by a whole sentence, {found.runs} by 13 words in a row"
    named = ", ".join(found.first) + (", …" if found.overlapping > len(found.first) else "")
    counts = f"{found.told_share} stand in the pretraining text ({kinds})"
    return f"fine_tuning.max_overlap: {found.task}: {counts}, more than {100 * limit:g}%: {named}"
