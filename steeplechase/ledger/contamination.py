"""Contamination: the share of a task's dev examples in the pretraining text, and its limit."""

from collections.abc import Iterable, Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.stage_results import ContaminationResult


def contamination_results(records: Iterable[Record]) -> Iterator[ContaminationResult]:
    """Yield the results of finished contamination stages, sorted by task, then by training text."""
    by_label = {(result.task, record.label): result for record, result in with_results(records, ContaminationResult)}
    for label in sorted(by_label):
        yield by_label[label]


def refuse_contamination(experiment: Experiment, records: Iterable[Record]) -> None:
    """Raise DataError if the contamination of a dev set is above `max_overlap`."""
    limit = experiment.fine_tuning.max_overlap
    results = contamination_results(records)
    lines = [_message(result, limit) for result in results if limit is not None and result.share > limit]
    if lines:
        advice = "Did you mean another corpus, without these texts, or a larger fine_tuning.max_overlap?"
        raise DataError([*lines, advice])


def _message(result: ContaminationResult, limit: float) -> str:
    kinds = f"{result.sentences} by a whole sentence, {result.runs} by 13 words in a row"
    examples = ", ".join(result.first) + (", …" if result.overlapping > len(result.first) else "")
    counts = f"{result.share_with_interval} occur in the pretraining text ({kinds})"
    return f"fine_tuning.max_overlap: {result.task}: {counts}, more than {100 * limit:g}%: {examples}"
