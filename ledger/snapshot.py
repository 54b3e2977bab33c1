"""How trials stand: a pure reading of the ledger's rows, the same for tables, the live view and MLflow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from configuration.stage_label import PRETRAIN, StageLabel
from foundation.errors import MachineError
from foundation.schema import JsonValue
from ledger.amendments import Amendment, amendments
from ledger.database import LedgerRows
from ledger.records import ArmRow, Decision, Record, Status, TrialRow, TrialStatus
from ledger.selected_settings import standing_of
from ledger.sessions import Session, sessions
from ledger.tuning_plan import CHOICES, TUNING, TuningPlan, choices_of
from ledger.tuning_selection import Choice


@dataclass(frozen=True)
class TrialHistory:
    """A trial with all that is known of it. `records` holds the latest record per label, in the order written."""

    trial: TrialRow
    records: tuple[Record, ...]
    decisions: tuple[Decision, ...]
    status: TrialStatus
    audit: tuple[Record, ...] = ()
    """What a stopped trial was trained on for the audit: shown as such, and nowhere else."""

    @property
    def stopped_by(self) -> Decision | None:
        """The hurdle that stopped the trial."""
        return next((decision for decision in self.decisions if not decision.cleared), None)

    def finished(self, stage: str) -> tuple[Record, ...]:
        """Return the finished records of one kind of stage."""
        return tuple(record for record in self.records if record.stage == stage and record.status is Status.FINISHED)


@dataclass(frozen=True)
class Tuning:
    """What every arm was tried at before it was compared, what that gave, and what was chosen."""

    tried: TuningPlan
    arms: tuple[ArmRow, ...]
    """Every arm at every point."""
    histories: tuple[TrialHistory, ...]
    choices: tuple[Choice, ...]
    """By arm; empty until all trials have ended."""


@dataclass(frozen=True)
class Snapshot:
    """Everything a report, a table or a mirror reads, taken from the ledger at one moment."""

    experiment: str
    scale: str
    document: Mapping[str, JsonValue]
    """The experiment as resolved at this scale."""
    labels: tuple[str, ...]
    """The stages every trial goes through when nothing stops it."""
    arms: tuple[ArmRow, ...]
    histories: tuple[TrialHistory, ...]
    shared: tuple[Record, ...]
    """Records of the stages that all trials share: corpus, tokens, questions, examples."""
    importance: Mapping[str, float] = field(default_factory=dict)
    """Of a finished search: each axis's share of the variance of the held-out loss."""
    amendments: tuple[Amendment, ...] = ()
    """What was added to the experiment after its ledger was begun; `document` is the latest."""
    first_document: Mapping[str, JsonValue] = field(default_factory=dict)
    """The experiment as it was when the ledger was begun; empty where nothing was added."""
    impossible: tuple[tuple[str, ...], ...] = ()
    """Points that the designs ask for and no arm can be: the name, then the reasons."""
    tuning: Tuning | None = None
    """Beside `arms` and `histories`, which hold nothing of it."""
    manifest: Mapping[str, JsonValue] = field(default_factory=dict, compare=False)
    """Versions and the machine that the ledger was begun with."""
    sessions: tuple[Session, ...] = field(default=(), compare=False)

    def of_arm(self, arm: str) -> tuple[TrialHistory, ...]:
        """Return the trials of one arm by seed."""
        return tuple(sorted((h for h in self.histories if h.trial.arm == arm), key=lambda h: h.trial.seed))

    @property
    def every_history(self) -> tuple[TrialHistory, ...]:
        """The trials of tuning and of the comparison."""
        return (*(self.tuning.histories if self.tuning else ()), *self.histories)

    @property
    def failed(self) -> tuple[TrialHistory, ...]:
        """The trials that have no result, through no fault of their candidate; the next run tries them again."""
        return tuple(history for history in self.every_history if history.status is TrialStatus.FAILED)

    @property
    def over(self) -> bool:
        """Whether every trial has ended."""
        return all(history.status not in (TrialStatus.WAITING, TrialStatus.RUNNING) for history in self.every_history)


def snapshot(ledger: LedgerRows) -> Snapshot:
    """Read the ledger once and fold it. Raises MachineError where a run has made it and was killed at once."""
    records = ledger.records()
    document, labels = ledger.fact("document"), ledger.fact("labels")
    if document is None:
        raise MachineError(f"{ledger.path}: nothing has been run here yet; start it with `steeplechase run`")
    assert isinstance(document, dict)
    names = tuple(map(str, labels)) if isinstance(labels, list) else ()  # an export leaves out what is empty
    tuning = _tuning(ledger)
    apart = {arm.name for arm in tuning.arms} if tuning else set()
    added = amendments(ledger)
    return Snapshot(
        experiment=str(ledger.fact("experiment")),
        scale=str(ledger.fact("scale")),
        document=added[-1].document if added else document,
        labels=names,
        arms=tuple(arm for arm in ledger.arms() if arm.name not in apart),
        histories=tuple(one for one in histories_of(ledger, names) if one.trial.arm not in apart),
        shared=_latest(record for record in records if record.trial is None),
        amendments=added,
        first_document=document if added else {},
        importance=_shares(ledger.fact("importance")),
        impossible=_texts(added[-1].impossible if added else ledger.fact("impossible")),
        tuning=tuning,
        manifest=told if isinstance(told := ledger.fact("manifest"), dict) else {},
        sessions=sessions(ledger),
    )


def _tuning(ledger: LedgerRows) -> Tuning | None:
    told = ledger.fact(TUNING)
    if told is None:
        return None
    tried = TuningPlan.of(told)
    arms = tuple(arm for arm in ledger.arms() if arm.tuning_trial_of is not None)
    names = {arm.name for arm in arms}
    histories = tuple(one for one in histories_of(ledger, tried.labels) if one.trial.arm in names)
    return Tuning(tried, arms, histories, choices_of(ledger.fact(CHOICES)))


def _texts(fact: JsonValue) -> tuple[tuple[str, ...], ...]:
    rows = fact if isinstance(fact, list) else []
    return tuple(tuple(map(str, row)) for row in rows if isinstance(row, list))


def _shares(fact: JsonValue) -> dict[str, float]:
    shares = fact if isinstance(fact, dict) else {}
    return {path: share for path, share in shares.items() if isinstance(share, float)}


def histories_of(ledger: LedgerRows, labels: Sequence[str]) -> tuple[TrialHistory, ...]:
    """Return every trial with its own rows, in the order in which the trials were declared."""
    records: dict[str, list[Record]] = {}
    decisions: dict[str, list[Decision]] = {}
    for record in ledger.records():
        if record.trial is not None:
            records.setdefault(record.trial, []).append(record)
    for decision in ledger.decisions():
        decisions.setdefault(decision.trial, []).append(decision)
    return tuple(
        history_of(trial, records.get(trial.name, ()), decisions.get(trial.name, ()), labels)
        for trial in ledger.trials()
    )


def history_of(
    trial: TrialRow, records: Iterable[Record], decisions: Iterable[Decision], labels: Sequence[str]
) -> TrialHistory:
    """Fold the rows of one trial into how it stands."""
    decided = tuple(decision for decision in decisions if decision.trial == trial.name)
    every = _latest(record for record in records if record.trial == trial.name)
    stop = next((decision.level for decision in decided if not decision.cleared), None)
    beyond = set() if stop is None else _labels_beyond(every, stop)
    mine = tuple(record for record in every if record.label not in beyond)
    audit = tuple(record for record in every if record.label in beyond)
    return TrialHistory(trial, mine, decided, _standing(mine, decided, labels), audit)


def _labels_beyond(records: Sequence[Record], level: int) -> set[str]:
    """Return the stages that only an audit has run: past the hurdle that stopped the trial, in tokens."""
    marked = [(record.label, StageLabel.parse(record.label)) for record in records]
    marks = sorted({label.tokens for _, label in marked if label.kind == PRETRAIN and label.tokens is not None})
    reached = marks[level : level + 1]
    return {text for text, label in marked if label.tokens is None or (reached and label.tokens > reached[0])}


def _latest(records: Iterable[Record]) -> tuple[Record, ...]:
    by_label = {record.label: record for record in records}
    return tuple(sorted(by_label.values(), key=lambda record: record.sequence))


def _standing(records: Sequence[Record], decisions: Sequence[Decision], labels: Sequence[str]) -> TrialStatus:
    statuses = {record.label: record.status for record in records}
    stopped = any(not decision.cleared for decision in decisions)
    return standing_of(statuses, stopped, all(label in statuses for label in labels))
