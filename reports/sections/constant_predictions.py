"""Collapsed fine-tunings: models that give every example of a task the same answer."""

from collections import Counter
from collections.abc import Iterator

from ledger.selected_settings import chosen_records
from reports.statistics.results import Results

TERM = "Collapsed fine-tunings"
FLAG = "constant"
"""The key of a record whose dev predictions are all equal; of a further part it is `constant PART`."""


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
            for record in chosen_records(history.records, labels):
                task = str(record.result["task"])
                every[task] += 1
                constant.update((task, key) for key in record.result if key.partition(" ")[0] == FLAG)
        for (task, key), count in sorted(constant.items()):
            part = key.removeprefix(FLAG)
            yield f"{arm.name} on {task}{part} in {count} of {every[task]} fine-tunings"
