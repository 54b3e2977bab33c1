"""Checkpoint of a finished pretraining in a results folder, by trial name: its candidate, result and files."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.stage_label import StageLabel, pretraining_marks
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import ConfigurationError, CorruptionError, MachineError, did_you_mean
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import Record
from steeplechase.ledger.reused_rows import lender_of
from steeplechase.ledger.snapshot import Snapshot, snapshot
from steeplechase.ledger.stage_results import FineTuneResult, PretrainResult, TokensResult
from steeplechase.ledger.trial_history import first_fine_tunings

TOKENS = "tokens"


@dataclass(frozen=True)
class PretrainedTrial:
    """A trial with finished pretraining."""

    experiment: str
    scale: str
    trial: str
    """`arm/seed`, as in tables and in the ledger."""
    candidate: Candidate
    result: PretrainResult
    """Of its last pretraining stage."""
    stage: Path
    """The verified folder of that stage; `checkpoint/` inside it has the weights."""
    tokens: Path
    """The verified folder of the stage with its vocabulary."""


def pretrained_trial(folder: Path, trial: str | None, objects: str = "") -> PretrainedTrial:
    """Return a trial of a results folder; `trial` may be None if there is only one. An audited trial is one too.

    `objects` is the URL of the object store of its stages, if it may be contacted.

    Raises ConfigurationError if there is no such trial or its pretraining is not finished, MachineError if there is
    no ledger or the files are missing, CorruptionError if they are damaged.
    """
    with closing(Ledger.at(folder)) as ledger:
        current = snapshot(ledger)
    last = _last_pretraining(folder, current)
    ends = {
        history.trial.name: (history.trial.arm, record, record.result)
        for history in current.histories
        for record in (*history.records, *history.audit)
        if record.label == last and isinstance(record.result, PretrainResult)
    }
    name = _choose(folder, trial, current, tuple(ends))
    arm, record, result = ends[name]
    candidate = next(row.candidate for row in current.arms if row.name == arm)
    vocabulary = _vocabulary(folder, current, candidate)
    store = ResultPaths.of(folder).store(objects)
    return PretrainedTrial(
        experiment=current.experiment,
        scale=current.scale,
        trial=name,
        candidate=_as_trained(candidate, result),
        result=result,
        stage=files_of(store, record, folder),
        tokens=files_of(store, vocabulary, folder),
    )


@dataclass(frozen=True)
class TunedTrial:
    """A trial that was fine-tuned on a task whose targets are texts."""

    trial: str
    """`arm/seed`, as in tables and in the ledger."""
    task: str
    architecture: Architecture
    stage: Path
    """The verified folder of the fine-tuning, with its weights."""
    tokens: Path
    """The verified folder of the stage with its vocabulary."""


def tuned_trials(folder: Path, objects: str = "", trial: str | None = None) -> list[TunedTrial]:
    """Return every trial of a results folder with a task of texts, the first fine-tuning seed of each.

    `objects` is the URL of the object store of its stages, if it may be contacted.

    Raises MachineError if there is no ledger or the files are missing, CorruptionError if they are damaged,
    ConfigurationError if the `trial` that is wanted is hidden.
    """
    with closing(Ledger.at(folder)) as ledger:
        current = snapshot(ledger)
    if trial is not None and (hidden := current.why_hidden(trial)) is not None:
        raise ConfigurationError(f"{folder}: {hidden}")
    store = ResultPaths.of(folder).store(objects)
    candidates = {row.name: row.candidate for row in current.arms}
    found: list[TunedTrial] = []
    for history in current.histories:
        for task, record in first_fine_tunings(history.records, current.labels).items():
            if isinstance(record.result, FineTuneResult) and record.result.signatures is not None:
                candidate = candidates[history.trial.arm]
                files = [files_of(store, each, folder) for each in (record, _vocabulary(folder, current, candidate))]
                found.append(TunedTrial(history.trial.name, task, candidate.architecture, *files))
    return found


def _vocabulary(folder: Path, current: Snapshot, candidate: Candidate) -> Record:
    """Return the record of the stage with a candidate's vocabulary. Raises CorruptionError without one."""
    label = str(StageLabel(TOKENS, data=candidate.data))
    found = [
        record
        for record in (*current.shared, *current.shared_of_data)
        if record.label == label and isinstance(record.result, TokensResult)
    ]
    if not found:
        raise CorruptionError(
            f"{folder}: its ledger has no record of the vocabulary, stage tokens; restore the ledger"
        )
    return found[0]


def _as_trained(candidate: Candidate, result: PretrainResult) -> Candidate:
    """Return the candidate with the architecture that pruning left."""
    if result.architecture is None:
        return candidate
    architecture = Architecture.model_validate_json(canonical_text(dict(result.architecture)))
    return candidate.model_copy(update={"architecture": architecture})


def _last_pretraining(folder: Path, current: Snapshot) -> str:
    pretraining = pretraining_marks(current.labels)
    if not pretraining:
        raise ConfigurationError(f"{folder}: has no trained model; its experiment trains none")
    if StageLabel.parse(pretraining[-1]).tokens == 0:
        raise ConfigurationError(f"{folder}: nothing is pretrained here; its models are those of its checkpoints")
    return pretraining[-1]


def _choose(folder: Path, trial: str | None, current: Snapshot, finished: tuple[str, ...]) -> str:
    if trial in finished or (trial is None and len(finished) == 1):
        return trial or finished[0]
    known = {history.trial.name: history.status.value for history in current.histories}
    choices = f"trials with finished pretraining: {', '.join(finished) or 'none'}"
    if trial is None and not finished:
        raise ConfigurationError(f"{folder}: no trial has finished pretraining; the same `run` goes on")
    if trial is None:
        raise ConfigurationError(f"{folder}: choose one of its trials with --trial; {choices}")
    if trial in known:
        raise ConfigurationError(f"{folder}: {trial} is {known[trial]} and has no final weights; {choices}")
    if (hidden := current.why_hidden(trial)) is not None:
        raise ConfigurationError(f"{folder}: {hidden}")
    of_arm = [name for name in known if name.rpartition("/")[0] == trial]
    meant = f" Did you mean {' or '.join(of_arm)}?" if of_arm else did_you_mean(trial, known)
    raise ConfigurationError(f"{folder}: {trial!r} is not a trial; {choices}.{meant}")


def files_of(store: ArtifactStore, record: Record, results: Path) -> Path:
    """Return the verified folder of a record's stage in a results folder.

    Raises MachineError if this machine has not got it, with the name of the results that the row was taken from.
    """
    if store.outcome(record.stage, record.key) is None:
        missing = f"{store.folder(record.stage, record.key)}: the files of this stage are missing"
        if (lender := lender_of(results, record)) is not None:
            taken = f"{record.trial} was taken from {lender} by --reuse, and only its rows are here"
            raise MachineError(f"{missing}; {taken}. Name {lender} instead, if its stages are kept")
        raise MachineError(f"{missing}; {store.whereabouts}")
    return store.read(record.stage, record.key)
