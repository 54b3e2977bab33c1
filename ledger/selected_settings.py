"""Which of the searched settings counts: chosen per task and fine-tuning seed, by the choice score alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from configuration.stage_label import FINE_TUNE, TASK_STAGES, StageLabel
from ledger.records import Record, Status, TrialStatus
from ledger.stage_results import FineTuneResult


def chosen_records(records: Iterable[Record], labels: Sequence[str]) -> tuple[Record, ...]:
    """Return one finished fine-tuning per task and seed, in the order of `labels`.

    Of a search it is the one with the best choice score, of equals the first, and none before every combination has
    ended. A combination that diverged loses; the scores that are reported are never looked at.
    """
    by_label = {record.label: record for record in records if record.stage in TASK_STAGES}
    cells: dict[StageLabel, dict[str, None]] = {}
    for label in [*labels, *by_label]:
        parsed = StageLabel.parse(label)
        if parsed.kind == FINE_TUNE:
            cells.setdefault(parsed.cell, {})[label] = None
    found = (_chosen([by_label.get(label) for label in of_cell]) for of_cell in cells.values())
    return tuple(record for record in found if record is not None)


def _chosen(records: Sequence[Record | None]) -> Record | None:
    ended = [one for one in records if one is not None and one.status in (Status.FINISHED, Status.DIVERGED)]
    finished = [record for record in ended if record.status is Status.FINISHED]
    if len(ended) < len(records) or not finished:
        return None
    return finished[0] if len(records) == 1 else max(finished, key=_choice_score)  # the first of equals


def _choice_score(record: Record) -> float:
    choice = record.result.choice if isinstance(record.result, FineTuneResult) else None
    return float("-inf") if choice is None or choice.score is None else float(choice.score)


def lasting(statuses: Mapping[str, Status]) -> Iterator[Status]:
    """Yield what became of a trial's stages: a combination that diverged beside one that did not changes nothing."""
    cells: dict[StageLabel, list[Status]] = {}
    for label, status in statuses.items():
        cells.setdefault(StageLabel.parse(label).cell, []).append(status)
    for of_cell in cells.values():
        every = set(of_cell)
        yield from every - {Status.DIVERGED} if len(every) > 1 else every


def standing_of(statuses: Mapping[str, Status], stopped: bool, complete: bool) -> TrialStatus:
    """Return a trial's standing by its stages, whether a hurdle stopped it and whether all its stages have ended."""
    if Status.DIVERGED in lasting(statuses):
        return TrialStatus.DIVERGED
    if stopped:
        return TrialStatus.STOPPED
    if Status.FAILED in statuses.values():
        return TrialStatus.FAILED
    if complete:
        return TrialStatus.FINISHED
    return TrialStatus.RUNNING if statuses else TrialStatus.WAITING
