"""Histories of trials: each with its rows and its status, pure functions of the ledger's rows.

Of searched fine-tuning settings one combination per task and fine-tuning seed counts, by the selection score alone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Protocol

from steeplechase.configuration.hurdles.rank_checked import RankChecked
from steeplechase.configuration.policies import POLICIES, policy_of
from steeplechase.configuration.stage_label import FINE_TUNE, PRETRAIN, TASK_STAGES, StageLabel, fine_tuning_cells
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import TrialRows
from steeplechase.ledger.records import Decision, KnownArm, Record, Status, TrialRow, TrialStatus, primary_score
from steeplechase.ledger.stage_results import FineTuneResult

"""The policy that has hurdles of its own."""


@dataclass(frozen=True)
class TrialHistory:
    """A trial with its rows. `records` has the latest record per label, in the order written."""

    trial: TrialRow
    records: tuple[Record, ...]
    decisions: tuple[Decision, ...]
    status: TrialStatus
    audit: tuple[Record, ...] = ()
    """Records of a stopped trial's further training in an audit; only the audit's table uses them."""
    stopped_at_end_of_budget: bool = False
    """Whether the end of a policy's budget stopped it, and no hurdle."""

    @property
    def stopped_by(self) -> Decision | None:
        """The decision that stopped the trial, None if it was not stopped."""
        return next((decision for decision in self.decisions if not decision.cleared), None)

    def finished(self, stage: str) -> tuple[Record, ...]:
        """Return the finished records of one kind of stage."""
        return tuple(record for record in self.records if record.stage == stage and record.status is Status.FINISHED)


class KnownRows(TrialRows, Protocol):
    """Read access to what a search goes by, in a ledger or in a driver's memory."""

    def arms(self) -> Sequence[KnownArm]:
        """Return the arms in the order of the table."""


def histories_of(
    ledger: TrialRows, labels: Sequence[str], arms: Collection[str] | None = None
) -> tuple[TrialHistory, ...]:
    """Return the history of every trial, or of those of some arms, in the order in which they were declared."""
    records: dict[str, list[Record]] = {}
    decisions: dict[str, list[Decision]] = {}
    for record in ledger.records():
        if record.trial is not None:
            records.setdefault(record.trial, []).append(record)
    for decision in ledger.decisions():
        decisions.setdefault(decision.trial, []).append(decision)
    document = ledger.fact("document")
    ended, between = stopped_at_end_of_budget(ledger.decisions(), _policy(document)), _checkpoints(document)
    found = (
        history_of(trial, records.get(trial.name, ()), decisions.get(trial.name, ()), labels, between)
        for trial in ledger.trials()
        if arms is None or trial.arm in arms
    )
    return tuple(replace(each, stopped_at_end_of_budget=each.trial.name in ended) for each in found)


def history_of(
    trial: TrialRow,
    records: Iterable[Record],
    decisions: Iterable[Decision],
    labels: Sequence[str],
    checkpoints: frozenset[int] = frozenset(),
) -> TrialHistory:
    """Return the history of one trial from its rows; `checkpoints` are the tokens of those that are no rung."""
    own_decisions = tuple(decision for decision in decisions if decision.trial == trial.name)
    latest = latest_records(record for record in records if record.trial == trial.name)
    stop = next((decision.level for decision in own_decisions if not decision.cleared), None)
    audited = set() if stop is None else _labels_beyond(latest, stop, checkpoints)
    before_stop = tuple(record for record in latest if record.label not in audited)
    audit = tuple(record for record in latest if record.label in audited)
    statuses = {record.label: record.status for record in before_stop}
    status = trial_status(statuses, stop is not None, all(label in statuses for label in labels))
    return TrialHistory(trial, before_stop, own_decisions, status, audit)


def _labels_beyond(records: Sequence[Record], level: int, checkpoints: frozenset[int]) -> set[str]:
    """Return the stages past the hurdle that stopped the trial, which only an audit runs."""
    labels = [(record.label, StageLabel.parse(record.label)) for record in records]
    trained = {label.tokens for _, label in labels if label.kind == PRETRAIN and label.tokens is not None}
    stopped_at = sorted(trained - checkpoints)[level : level + 1]
    return {text for text, label in labels if label.tokens is None or (stopped_at and label.tokens > stopped_at[0])}


def latest_records(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the latest record of every label, in the order written."""
    by_label = {record.label: record for record in records}
    return tuple(sorted(by_label.values(), key=lambda record: record.sequence))


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


def final_statuses(statuses: Mapping[str, Status]) -> Iterator[Status]:
    """Yield the statuses of a trial's stages; a diverged combination counts only if all combinations diverged."""
    cells: dict[StageLabel, set[Status]] = {}
    for label, status in statuses.items():
        cells.setdefault(StageLabel.parse(label).cell, set()).add(status)
    for cell_statuses in cells.values():
        yield from cell_statuses - {Status.DIVERGED} if len(cell_statuses) > 1 else cell_statuses


def stopped_at_end_of_budget(decisions: Iterable[Decision], policy: str | None) -> frozenset[str]:
    """Return the trials that waited at a pause when the budget of a search's policy ended.

    Their decisions have no threshold. Nor have those of the trials whose values set a hurdle of a policy that has
    hurdles, which come before every decision of their level that has one.
    """
    if policy is None:
        return frozenset()
    sets_hurdles = policy in POLICIES and policy_of(policy).has_hurdles
    with_hurdle: set[int] = set()
    ended: set[str] = set()
    for decision in decisions:
        has_hurdle = not sets_hurdles or decision.level in with_hurdle
        if decision.threshold is not None:
            with_hurdle.add(decision.level)
        elif has_hurdle and not decision.cleared and decision.value is not None:
            ended.add(decision.trial)
    return frozenset(ended)


def _checkpoints(document: JsonValue) -> frozenset[int]:
    """Return the tokens of the checkpoints in an experiment's document at which no hurdle stands."""
    pretraining = document.get("pretraining") if isinstance(document, dict) else None
    fields = pretraining if isinstance(pretraining, dict) else {}
    hurdle, checkpoints, tokens = (fields.get(name) for name in ("hurdle", "checkpoints", "tokens"))
    if not isinstance(hurdle, dict) or not isinstance(checkpoints, list) or not isinstance(tokens, int):
        return frozenset()
    rungs = hurdle.get("rungs")
    if not rungs and hurdle.get("kind") == "rank_checked":
        rungs = [*RankChecked().rungs_of(tokens)]
    known = rungs if isinstance(rungs, list) else []
    return frozenset(each for each in checkpoints if isinstance(each, int) and each not in known)


def _policy(document: JsonValue) -> str | None:
    """Return the policy of the search in an experiment's document, None without one."""
    fields = document if isinstance(document, dict) else {}
    design = fields.get("designs", fields.get("design"))
    designs = design if isinstance(design, list) else [design]
    policies = (each.get("policy") for each in designs if isinstance(each, dict))
    return next((policy for policy in policies if isinstance(policy, str)), None)


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
