"""Snapshot of an experiment: the state of every trial, a pure function of the rows of its ledger or export.

Tables, the live view and MLflow all use it. Rows are read from a results folder, whichever of both it has.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.plugin_folders import COPIES
from steeplechase.configuration.plugin_options import OPTIONS, recorded_flops
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.amendments import ReadOnce, amendments, declared_rows, fact_of_version, refuse_unknown_rungs
from steeplechase.ledger.csv_export import is_export, read_export
from steeplechase.ledger.database import LEDGER_NAME, Ledger, LedgerRows, TrialRows
from steeplechase.ledger.facts import Amendment, ReusedSource
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.phase_plans import (
    CHOICES,
    FINALISTS,
    TUNING,
    WINNER,
    Choice,
    FinalPlan,
    TuningPlan,
    choices_of,
    winner_of,
)
from steeplechase.ledger.records import NOT_ENDED, ArmRow, Record, TrialStatus
from steeplechase.ledger.sessions import Session, reused_sources, sessions
from steeplechase.ledger.task_references import PROBE_REFERENCE, REFERENCES, ProbeReference, with_added_references
from steeplechase.ledger.trial_history import TrialHistory, histories_of, latest_records

DRAWN_IDENTITY = "drawn identity"
"""The fact with letters that were drawn when the ledger was made."""
PARENTS = "parents"
"""Fact in the ledger: the parent of each mutant of a finished search by evolution."""


@dataclass(frozen=True)
class Tuning:
    """Tuning: its plan, its trials and the selected points."""

    tried: TuningPlan
    arms: tuple[ArmRow, ...]
    """Every arm at every point."""
    histories: tuple[TrialHistory, ...]
    choices: tuple[Choice, ...]
    """By arm; empty until all tuning trials have ended."""

    @property
    def has_selected(self) -> bool:
        """Whether another recipe than the shared one was selected for some arm."""
        return any(choice.point for choice in self.choices)


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
    hidden_trials: frozenset[str] = field(default=frozenset(), compare=False)
    """The trials, `arm/seed`, that the latest version leaves out."""
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

    def why_hidden(self, name: str) -> str | None:
        """Return how a hidden arm or trial, `arm/seed`, is shown again; None for another name."""
        arms = {trial.rpartition("/")[0] for trial in self.hidden_trials} - {arm.name for arm in self.arms}
        again = "`steeplechase run` of a version that names it shows it again, without training"
        line = f"{name} is hidden: the experiment as it was last run leaves it out; {again}"
        return line if name in arms.union(self.hidden_trials) else None

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
    ledger = ReadOnce(declared_rows(every := ReadOnce(ledger)))
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
        hidden_trials=frozenset(row.name for row in every.trials()) - {row.name for row in ledger.trials()},
        drawn_identity=str(ledger.fact(DRAWN_IDENTITY) or ""),
    )


def shared_records(ledger: TrialRows, of_data: bool = False) -> tuple[Record, ...]:
    """Return the latest record of every stage outside trials, either of the experiment's data or of those of arms."""
    outside = (record for record in ledger.records() if record.trial is None)
    return latest_records(
        record for record in outside if (StageLabel.parse(record.label).data is not None) == of_data
    )


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
    return histories_of(ledger, labels, {arm.name for arm in arms})


def _texts(fact: JsonValue) -> tuple[tuple[str, ...], ...]:
    rows = fact if isinstance(fact, list) else []
    return tuple(tuple(map(str, row)) for row in rows if isinstance(row, list))


def _names(fact: JsonValue) -> dict[str, str]:
    return {name: str(other) for name, other in fact.items()} if isinstance(fact, dict) else {}


def _shares(fact: JsonValue) -> dict[str, float]:
    shares = fact if isinstance(fact, dict) else {}
    return {path: share for path, share in shares.items() if isinstance(share, float)}


@contextmanager
def open_rows(folder: Path) -> Iterator[LedgerRows]:
    """Give the rows of a folder's ledger, or of its export if it has no ledger.

    Raises MachineError if there is neither, CorruptionError if the rows are damaged or from an earlier version.
    """
    if is_export(folder):
        yield read_export(folder)
        return
    with closing(Ledger.at(folder)) as ledger:
        yield ledger


def plugin_copies(folder: Path) -> Path:
    """Return the folder of the copies of a ledger's plugins; of an export they are beside its rows."""
    return (folder if not (folder / LEDGER_NAME).is_file() else ResultPaths.of(folder).root) / COPIES


def snapshot_at(folder: Path) -> Snapshot:
    """Return the snapshot of a results folder or of an export."""
    with open_rows(folder) as rows:
        return snapshot(rows)
