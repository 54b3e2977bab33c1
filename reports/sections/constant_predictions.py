"""Collapsed fine-tunings: models that give every example of a task the same answer."""

from collections import Counter
from collections.abc import Iterator

from ledger.records import with_results
from ledger.selected_settings import chosen_records
from ledger.stage_results import FineTuneResult
from reports.statistics.results import Results

TERM = "Collapsed fine-tunings"


def constant_notes(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the line of the footer: by arm and task, how many of its fine-tunings; none where there is none."""
    found = "; ".join(_collapsed(results))
    if found:
        yield TERM, f"one answer for every example: {found}; their correlation is set to 0"


def _collapsed(results: Results) -> Iterator[str]:
    labels = results.snapshot.labels
    for arm in results.arms:
        every, constant = Counter[str](), Counter[tuple[str, str]]()
        for history in results.trials[arm.name]:
            for _, result in with_results(chosen_records(history.records, labels), FineTuneResult):
                every[result.task] += 1
                parts = ("" if part == "dev" else f" {part}" for part in result.constant_parts)
                constant.update((result.task, part) for part in parts)
        for (task, part), count in sorted(constant.items()):
            yield f"{arm.name} on {task}{part} in {count} of {every[task]} fine-tunings"
