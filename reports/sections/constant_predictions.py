"""Collapsed fine-tunings: models with the same prediction for every example of a task."""

from collections import Counter
from collections.abc import Iterator

from reports.section import Section
from reports.statistics.results import Results
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import FineTuneResult
from steeplechase.ledger.trial_history import chosen_records

TERM = "Collapsed fine-tunings"


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the number of collapsed fine-tunings by arm and task; none without one."""
    collapsed = "; ".join(_collapsed(results))
    if collapsed:
        yield TERM, f"constant predictions: {collapsed}; their correlation is set to 0"


def _collapsed(results: Results) -> Iterator[str]:
    labels = results.snapshot.labels
    for arm in results.arms:
        fine_tunings, constant = Counter[str](), Counter[tuple[str, str]]()
        for history in results.trials[arm.name]:
            for _, result in with_results(chosen_records(history.records, labels), FineTuneResult):
                fine_tunings[result.task] += 1
                undefined = result.without_value or {}  # whatever is predicted
                parts = ("" if part == "dev" else f" {part}" for part in result.constant_parts if not undefined)
                constant.update((result.task, part) for part in parts)
        for (task, part), count in sorted(constant.items()):
            yield f"{arm.name} on {task}{part} in {count} of {fine_tunings[task]} fine-tunings"


SECTION = Section("constant_predictions", conditions=_conditions)
