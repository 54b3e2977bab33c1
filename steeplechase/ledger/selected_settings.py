"""Selection of searched fine-tuning settings, per task and fine-tuning seed, by the selection score alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from steeplechase.configuration.stage_label import FINE_TUNE, TASK_STAGES, StageLabel, fine_tuning_cells
from steeplechase.ledger.records import Record, Status, TrialStatus, primary_score
from steeplechase.ledger.stage_results import FineTuneResult


def chosen_records(records: Iterable[Record], labels: Sequence[str]) -> tuple[Record, ...]:
    """Return one finished fine-tuning per task and seed, in the order of `labels`.

    Of a search it is the combination with the best selection score, of ties the first, and none before all have
    ended. A diverged combination is never selected; reported scores are not used.
    """
    by_label = {record.label: record for record in records if record.stage in TASK_STAGES}
    cells: dict[StageLabel, dict[str, None]] = {}
    for label in [*labels, *by_label]:
        parsed = StageLabel.parse(label)
        if parsed.kind == FINE_TUNE:
            cells.setdefault(parsed.cell, {})[label] = None
    chosen = (_chosen([by_label.get(label) for label in cell_labels]) for cell_labels in cells.values())
    return tuple(record for record in chosen if record is not None)


def score_of(records: Iterable[Record], labels: Sequence[str]) -> float | None:
    """Return the mean over tasks of the mean over fine-tuning seeds, None if a score of the labels is missing."""
    chosen = {StageLabel.parse(record.label).cell: record for record in chosen_records(records, labels)}
    scores: dict[str | None, list[float]] = {}
    for cell in fine_tuning_cells(labels):
        value = primary_score(chosen[cell]) if cell in chosen else None
        if value is None:
            return None
        scores.setdefault(cell.task, []).append(value)
    return fmean(fmean(task_scores) for task_scores in scores.values()) if scores else None


def first_fine_tunings(records: Iterable[Record], labels: Sequence[str]) -> dict[str, Record]:
    """Return by task the fine-tuning at the first seed in the order of `labels`, of a search the selected one.

    The order in which stages ended, which depends on the workers, has no part in it.
    """
    found: dict[str, Record] = {}
    for record in chosen_records(records, labels):
        if record.stage == FINE_TUNE and isinstance(record.result, FineTuneResult):
            found.setdefault(record.result.task, record)
    return found


def _chosen(records: Sequence[Record | None]) -> Record | None:
    ended = [r for r in records if r is not None and r.status in (Status.FINISHED, Status.DIVERGED)]
    finished = [record for record in ended if record.status is Status.FINISHED]
    if len(ended) < len(records) or not finished:
        return None
    return finished[0] if len(records) == 1 else max(finished, key=_selection_score)  # the first of ties


def _selection_score(record: Record) -> float:
    choice = record.result.choice if isinstance(record.result, FineTuneResult) else None
    return float("-inf") if choice is None or choice.score is None else float(choice.score)


def final_statuses(statuses: Mapping[str, Status]) -> Iterator[Status]:
    """Yield the statuses of a trial's stages; a diverged combination counts only if all combinations diverged."""
    cells: dict[StageLabel, set[Status]] = {}
    for label, status in statuses.items():
        cells.setdefault(StageLabel.parse(label).cell, set()).add(status)
    for cell_statuses in cells.values():
        yield from cell_statuses - {Status.DIVERGED} if len(cell_statuses) > 1 else cell_statuses


def trial_status(statuses: Mapping[str, Status], stopped: bool, complete: bool) -> TrialStatus:
    """Return a trial's status from its stages' statuses, the hurdles' decisions and whether all stages have ended."""
    if Status.DIVERGED in final_statuses(statuses):
        return TrialStatus.DIVERGED
    if stopped:
        return TrialStatus.STOPPED
    if Status.FAILED in statuses.values():
        return TrialStatus.FAILED
    if complete:
        return TrialStatus.FINISHED
    return TrialStatus.RUNNING if statuses else TrialStatus.WAITING
