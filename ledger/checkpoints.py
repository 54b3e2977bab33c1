"""A finished pretraining in a results folder, by the name of its trial: what was trained and where its files lie."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from configuration.stage_label import pretraining_marks
from foundation.errors import ConfigurationError, MachineError, did_you_mean
from ledger.artifacts import ArtifactStore
from ledger.database import Ledger
from ledger.paths import ResultPaths
from ledger.records import Record
from ledger.snapshot import Snapshot, snapshot
from ledger.stage_results import PretrainResult
from search_space.candidate import Candidate

TOKENS = "tokens"


@dataclass(frozen=True)
class PretrainedTrial:
    """A trial whose pretraining has come to its end."""

    experiment: str
    scale: str
    trial: str
    """`arm/seed`, as in tables and in the ledger."""
    candidate: Candidate
    result: PretrainResult
    """Of its last pretraining stage."""
    stage: Path
    """The verified folder of that stage; `checkpoint/` inside it holds the weights."""
    tokens: Path
    """The verified folder of the stage that holds its vocabulary."""


def trained(folder: Path, trial: str | None) -> PretrainedTrial:
    """Return a trial of a results folder; none need be named where there is but one.

    Raises ConfigurationError where there is no such trial or its pretraining has not come to an end,
    MachineError where there is no ledger or the files are elsewhere, Corruption where they are damaged.
    """
    with closing(Ledger.at(folder)) as ledger:
        found = snapshot(ledger)
    last = _last_pretraining(folder, found)
    ends = {
        history.trial.name: (history.trial.arm, record, record.result)
        for history in found.histories
        for record in history.records
        if record.label == last and isinstance(record.result, PretrainResult)
    }
    name = _choose(folder, trial, found, tuple(ends))
    arm, record, result = ends[name]
    vocabulary = next(record for record in found.shared if record.stage == TOKENS)
    store = ArtifactStore(ResultPaths.of(folder).stages)
    return PretrainedTrial(
        experiment=found.experiment,
        scale=found.scale,
        trial=name,
        candidate=next(row.candidate for row in found.arms if row.name == arm),
        result=result,
        stage=_files(store, record),
        tokens=_files(store, vocabulary),
    )


def _last_pretraining(folder: Path, found: Snapshot) -> str:
    marks = pretraining_marks(found.labels)
    if not marks:
        raise ConfigurationError(f"{folder}: holds no trained model; its experiment only times models")
    return marks[-1]


def _choose(folder: Path, trial: str | None, found: Snapshot, finished: tuple[str, ...]) -> str:
    if trial in finished or (trial is None and len(finished) == 1):
        return trial or finished[0]
    known = {history.trial.name: history.status.value for history in found.histories}
    choices = f"pretrained to the end here: {', '.join(finished) or 'none'}"
    if trial is None:
        raise ConfigurationError(f"{folder}: choose one of its trials with --trial; {choices}")
    if trial in known:
        raise ConfigurationError(f"{folder}: {trial} is {known[trial]} and has no weights of its end; {choices}")
    raise ConfigurationError(f"{folder}: {trial!r} is not a trial; {choices}.{did_you_mean(trial, known)}")


def _files(store: ArtifactStore, record: Record) -> Path:
    if store.outcome(record.stage, record.key) is None:
        folder = store.folder(record.stage, record.key)
        raise MachineError(f"{folder}: is not there; the ledger has been moved away from its stages")
    return store.read(record.stage, record.key)
