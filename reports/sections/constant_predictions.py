"""Collapsed fine-tunings: models with the same prediction for every example of a task."""

from collections import Counter
from collections.abc import Iterator

from reports.section import Section
from reports.statistics.results import Results
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import FineTuneResult
from steeplechase.ledger.trial_history import chosen_records
from steeplechase.tasks.metrics import CORRELATIONS

TERM = "Collapsed fine-tunings"


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the number of collapsed fine-tunings by arm and task; none without one."""
    tuned, collapsed = Counter[tuple[str, str]](), []
    for arm, result in _fine_tunings(results):
        tuned[arm, result.task] += 1
        if results.primary(result.task) not in (result.without_value or {}):  # else it has none whatever is predicted
            collapsed += [(arm, result, part) for part in result.constant_parts]
    if collapsed:
        counts = Counter((arm, result.task, "" if part == "dev" else f" {part}") for arm, result, part in collapsed)
        order = {arm.name: index for index, arm in enumerate(results.arms)}
        clauses = [
            f"{arm} on {task}{part} in {count} of {tuned[arm, task]} fine-tunings"
            for (arm, task, part), count in sorted(counts.items(), key=lambda each: (order[each[0][0]], each[0]))
        ]
        if any(CORRELATIONS.intersection(result.scores) for _, result, _ in collapsed):
            clauses.append("their correlation is set to 0")
        yield TERM, f"constant predictions: {'; '.join(clauses)}"


def _fine_tunings(results: Results) -> Iterator[tuple[str, FineTuneResult]]:
    for arm in results.arms:
        for history in results.trials[arm.name]:
            for _, result in with_results(chosen_records(history.records, results.snapshot.labels), FineTuneResult):
                yield arm.name, result


SECTION = Section("constant_predictions", conditions=_conditions)
