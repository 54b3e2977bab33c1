"""Snapshot of an experiment: the state of every trial, a pure function of the ledger's rows.

Tables, the live view and MLflow all use it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.plugin_options import OPTIONS, recorded_flops
from steeplechase.configuration.stage_label import PRETRAIN, StageLabel
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.amendments import Amendment, amendments, fact_of_version
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.declared_rows import declared_rows, refuse_unknown_rungs
from steeplechase.ledger.final_plan import FINALISTS, WINNER, FinalPlan, winner_of
from steeplechase.ledger.records import NOT_ENDED, ArmRow, Decision, Record, Status, TrialRow, TrialStatus
from steeplechase.ledger.reused_sources import ReusedSource, reused_sources
from steeplechase.ledger.selected_settings import trial_status
from steeplechase.ledger.sessions import Session, sessions
from steeplechase.ledger.task_references import (
    PROBE_REFERENCE,
    REFERENCES,
    ProbeReference,
    with_added_references,
)
from steeplechase.ledger.tuning_plan import CHOICES, TUNING, TuningPlan, choices_of
from steeplechase.ledger.tuning_selection import Choice

PROGRESSIVE_HURDLES = "progressive_hurdles"
"""The policy that has hurdles of its own."""
DRAWN_IDENTITY = "drawn identity"
"""The fact with letters that were drawn when the ledger was made."""
PARENTS = "parents"
"""Fact in the ledger: the parent of each mutant of a finished search by evolution."""


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


@dataclass(frozen=True)
class Tuning:
    """Tuning: its plan, its trials and the selected points."""

    tried: TuningPlan
    arms: tuple[ArmRow, ...]
    """Every arm at every point."""
    histories: tuple[TrialHistory, ...]
    choices: tuple[Choice, ...]
    """By arm; empty until all tuning trials have ended."""


@dataclass(frozen=True)
class FinalComparison:
    """The comparison at the end of a search: its finalists, the ablation of the winner, and their trials."""

    plan: FinalPlan
    winner: str | None
    """None before it is known, or if no finalist has finished."""
    arms: tuple[ArmRow, ...]
    """The baseline, the finalists and the arms of the ablation."""
    histories: tuple[TrialHistory, ...]


@dataclass(frozen=True)
class Snapshot:
    """Everything that reports, tables and MLflow need, read from the ledger at one moment."""

    experiment: str
    scale: str
    document: Mapping[str, JsonValue]
    """The experiment, resolved at this scale."""
    labels: tuple[str, ...]
    """The stages of a trial that is not stopped."""
    arms: tuple[ArmRow, ...]
    histories: tuple[TrialHistory, ...]
    shared: tuple[Record, ...]
    """Records of the stages that all trials share: corpus, tokens, evaluation set, examples."""
    shared_of_data: tuple[Record, ...] = ()
    """Records of the stages of texts and vocabularies that arms have in place of the experiment's."""
    importance: Mapping[str, float] = field(default_factory=dict)
    """Of a finished search: each axis's share of the variance of the first objective."""
    parents: Mapping[str, str] = field(default_factory=dict)
    """Of a finished search by evolution: the parent of each candidate that is a mutant, by name."""
    amendments: tuple[Amendment, ...] = ()
    """Additions to the experiment after its ledger was created; `document` is the latest version."""
    first_document: Mapping[str, JsonValue] = field(default_factory=dict)
    """The experiment when the ledger was created; empty without amendments."""
    impossible: tuple[tuple[str, ...], ...] = ()
    """Impossible points of the designs: the name, then the reasons."""
    tuning: Tuning | None = None
    """Tuning, whose arms and trials are not in `arms` and `histories`."""
    final: FinalComparison | None = None
    """The final comparison of a search, whose arms and trials are not in `arms` and `histories`."""
    probe_reference: ProbeReference | None = None
    """Of a search by a probe, what the threshold of a hurdle must exceed; None of older ledgers."""
    part_flops: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Of an experiment with plugins: the FLOPs of a timed part by arm and length."""
    manifest: Mapping[str, JsonValue] = field(default_factory=dict, compare=False)
    """Versions and machine of the first run."""
    sessions: tuple[Session, ...] = field(default=(), compare=False)
    reused_sources: tuple[ReusedSource, ...] = field(default=(), compare=False)
    """Other results that finished trials were taken from."""
    drawn_identity: str = field(default="", compare=False)
    """What tells the ledger from others of its experiment and scale, wherever its folder lies; empty of exports."""

    def of_arm(self, arm: str) -> tuple[TrialHistory, ...]:
        """Return the trials of one arm by seed."""
        return tuple(sorted((h for h in self.histories if h.trial.arm == arm), key=lambda h: h.trial.seed))

    @property
    def has_trials(self) -> bool:
        """Whether any model is trained; otherwise arms are only measured, outside trials."""
        return bool(self.labels)

    @property
    def arms_with_other_loss(self) -> frozenset[str]:
        """The arms whose held-out loss is compared with none: they have another objective or vocabulary."""
        candidates = {arm.name: arm.candidate for arm in self.arms}
        if (baseline := candidates.get(BASELINE)) is None:
            return frozenset()
        data, evaluated = self.document.get("data"), baseline.objective.evaluation
        declared = data if isinstance(data, dict) else {}
        own = {name for name, each in declared.items() if isinstance(each, dict) and each.get("tokenizer")}
        return frozenset(
            arm for arm, each in candidates.items() if each.data in own or not each.objective.measured_on(evaluated)
        )

    @property
    def every_history(self) -> tuple[TrialHistory, ...]:
        """The trials of tuning, then those of the table or of the search, then those of its final comparison."""
        tuned, final = (part.histories if part else () for part in (self.tuning, self.final))
        return (*tuned, *self.histories, *final)

    @property
    def failed(self) -> tuple[TrialHistory, ...]:
        """The failed trials, which the next run repeats."""
        return tuple(history for history in self.every_history if history.status is TrialStatus.FAILED)

    @property
    def over(self) -> bool:
        """Whether every trial has ended; not before the trials of an experiment that has them are declared."""
        declared = bool(self.every_history) or not self.has_trials
        return declared and all(history.status not in NOT_ENDED for history in self.every_history)

    @property
    def stopped_by_limit(self) -> str | None:
        """The limit that ended the last session; None if it ended otherwise, or if every trial has ended."""
        return self.sessions[-1].stopped_by if self.sessions and not self.over else None

    @property
    def interruption(self) -> str | None:
        """How the last session was interrupted; None if it was not, or if every trial has ended."""
        return self.sessions[-1].interruption if self.sessions and not self.over else None

    @property
    def under_way(self) -> "Snapshot":
        """The snapshot while a run goes on: the end of an earlier session is not the run's."""
        if not self.sessions:
            return self
        last = replace(self.sessions[-1], stopped_by=None, interruption=None)
        return replace(self, sessions=(*self.sessions[:-1], last))


def snapshot(ledger: LedgerRows) -> Snapshot:
    """Return the snapshot of a ledger, of what its experiment declares now.

    Raises MachineError if the ledger has no experiment yet.
    """
    ledger = declared_rows(ledger)
    document, labels = ledger.fact("document"), ledger.fact("labels")
    if document is None:
        raise MachineError(f"{ledger.path}: nothing has been run here yet; start it with `steeplechase run`")
    assert isinstance(document, dict)
    names = tuple(map(str, labels)) if isinstance(labels, list) else ()  # an export leaves out empty facts
    tuning, manifest = _tuning(ledger), ledger.fact("manifest")
    final = _final(ledger)
    apart = {arm.name for part in (tuning, final) if part is not None for arm in part.arms}
    added = amendments(ledger)
    if names and not added:
        refuse_unknown_rungs(ledger, names)
    return Snapshot(
        experiment=str(ledger.fact("experiment")),
        scale=str(fact_of_version(ledger, "scale")),
        document=added[-1].document if added else document,
        labels=names,
        arms=tuple(arm for arm in ledger.arms() if arm.name not in apart),
        histories=tuple(h for h in histories_of(ledger, names) if h.trial.arm not in apart),
        shared=with_added_references(shared_records(ledger), ledger.fact(REFERENCES)),
        shared_of_data=shared_records(ledger, of_data=True),
        amendments=added,
        first_document=document if added else {},
        importance=_shares(fact_of_version(ledger, "importance")),
        parents=_names(fact_of_version(ledger, PARENTS)),
        impossible=_texts(added[-1].impossible if added else ledger.fact("impossible")),
        tuning=tuning,
        final=final,
        probe_reference=ProbeReference.of_fact(ledger.fact(PROBE_REFERENCE)),
        part_flops=recorded_flops(ledger.fact(OPTIONS)),
        manifest=manifest if isinstance(manifest, dict) else {},
        sessions=sessions(ledger),
        reused_sources=reused_sources(ledger),
        drawn_identity=str(ledger.fact(DRAWN_IDENTITY) or ""),
    )


def shared_records(ledger: LedgerRows, of_data: bool = False) -> tuple[Record, ...]:
    """Return the latest record of every stage outside trials, either of the experiment's data or of those of arms."""
    outside = (record for record in ledger.records() if record.trial is None)
    return _latest(record for record in outside if (StageLabel.parse(record.label).data is not None) == of_data)


def _tuning(ledger: LedgerRows) -> Tuning | None:
    fact = ledger.fact(TUNING)
    if fact is None:
        return None
    plan = TuningPlan.of(fact)
    arms = tuple(arm for arm in ledger.arms() if arm.tuning_trial_of is not None)
    return Tuning(plan, arms, _histories_of_arms(ledger, arms, plan.labels), choices_of(ledger.fact(CHOICES)))


def _final(ledger: LedgerRows) -> FinalComparison | None:
    plan = FinalPlan.of(ledger.fact(FINALISTS))
    if plan is None:
        return None
    arms = tuple(arm for arm in ledger.arms() if arm.final_of is not None)
    histories = _histories_of_arms(ledger, arms, plan.labels)
    return FinalComparison(plan, winner_of(ledger.fact(WINNER)), arms, histories)


def _histories_of_arms(ledger: LedgerRows, arms: Sequence[ArmRow], labels: Sequence[str]) -> tuple[TrialHistory, ...]:
    names = {arm.name for arm in arms}
    return tuple(history for history in histories_of(ledger, labels) if history.trial.arm in names)


def _texts(fact: JsonValue) -> tuple[tuple[str, ...], ...]:
    rows = fact if isinstance(fact, list) else []
    return tuple(tuple(map(str, row)) for row in rows if isinstance(row, list))


def _names(fact: JsonValue) -> dict[str, str]:
    return {name: str(other) for name, other in fact.items()} if isinstance(fact, dict) else {}


def _shares(fact: JsonValue) -> dict[str, float]:
    shares = fact if isinstance(fact, dict) else {}
    return {path: share for path, share in shares.items() if isinstance(share, float)}


def histories_of(ledger: LedgerRows, labels: Sequence[str]) -> tuple[TrialHistory, ...]:
    """Return the history of every trial, in the order in which the trials were declared."""
    records: dict[str, list[Record]] = {}
    decisions: dict[str, list[Decision]] = {}
    for record in ledger.records():
        if record.trial is not None:
            records.setdefault(record.trial, []).append(record)
    for decision in ledger.decisions():
        decisions.setdefault(decision.trial, []).append(decision)
    ended = stopped_at_end_of_budget(ledger.decisions(), _policy(ledger.fact("document")))
    found = (
        history_of(trial, records.get(trial.name, ()), decisions.get(trial.name, ()), labels)
        for trial in ledger.trials()
    )
    return tuple(replace(each, stopped_at_end_of_budget=each.trial.name in ended) for each in found)


def stopped_at_end_of_budget(decisions: Iterable[Decision], policy: str | None) -> frozenset[str]:
    """Return the trials that waited at a pause when the budget of a search's policy ended.

    Their decisions have no threshold. Nor have those of the trials whose values set a hurdle of the policy
    `progressive_hurdles`, which come before every decision of their level that has one.
    """
    if policy is None:
        return frozenset()
    with_hurdle: set[int] = set()
    ended: set[str] = set()
    for decision in decisions:
        has_hurdle = policy != PROGRESSIVE_HURDLES or decision.level in with_hurdle
        if decision.threshold is not None:
            with_hurdle.add(decision.level)
        elif has_hurdle and not decision.cleared and decision.value is not None:
            ended.add(decision.trial)
    return frozenset(ended)


def _policy(document: JsonValue) -> str | None:
    """Return the policy of the search in an experiment's document, None without one."""
    fields = document if isinstance(document, dict) else {}
    design = fields.get("designs", fields.get("design"))
    designs = design if isinstance(design, list) else [design]
    policies = (each.get("policy") for each in designs if isinstance(each, dict))
    return next((policy for policy in policies if isinstance(policy, str)), None)


def history_of(
    trial: TrialRow, records: Iterable[Record], decisions: Iterable[Decision], labels: Sequence[str]
) -> TrialHistory:
    """Return the history of one trial from its rows."""
    own_decisions = tuple(decision for decision in decisions if decision.trial == trial.name)
    latest = _latest(record for record in records if record.trial == trial.name)
    stop = next((decision.level for decision in own_decisions if not decision.cleared), None)
    audited = set() if stop is None else _labels_beyond(latest, stop)
    before_stop = tuple(record for record in latest if record.label not in audited)
    audit = tuple(record for record in latest if record.label in audited)
    return TrialHistory(trial, before_stop, own_decisions, _status(before_stop, own_decisions, labels), audit)


def _labels_beyond(records: Sequence[Record], level: int) -> set[str]:
    """Return the stages past the hurdle that stopped the trial, which only an audit runs."""
    labels = [(record.label, StageLabel.parse(record.label)) for record in records]
    rungs = sorted({label.tokens for _, label in labels if label.kind == PRETRAIN and label.tokens is not None})
    stopped_at = rungs[level : level + 1]
    return {text for text, label in labels if label.tokens is None or (stopped_at and label.tokens > stopped_at[0])}


def _latest(records: Iterable[Record]) -> tuple[Record, ...]:
    by_label = {record.label: record for record in records}
    return tuple(sorted(by_label.values(), key=lambda record: record.sequence))


def _status(records: Sequence[Record], decisions: Sequence[Decision], labels: Sequence[str]) -> TrialStatus:
    statuses = {record.label: record.status for record in records}
    stopped = any(not decision.cleared for decision in decisions)
    return trial_status(statuses, stopped, all(label in statuses for label in labels))
