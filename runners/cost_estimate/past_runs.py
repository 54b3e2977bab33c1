"""Durations of the stages of earlier experiments on this machine.

Source: the records of every ledger under a results root that was written on this processor, those of stages on a GPU
also on this card, with the FLOPs of each stage in closed form.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from runners.cost_estimate.flops import task_flops
from runners.stage_labels import pretrain_labels
from search_space.candidate import Candidate
from search_space.module_architecture import ModuleArchitecture
from search_space.module_factories import refusal
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import tuning_view
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import FineTuningRun, fine_tuning_runs, settings_of
from steeplechase.configuration.plugin_options import forget_recorded_options
from steeplechase.configuration.stage_label import TASK_STAGES, UNTRAINED, StageLabel
from steeplechase.foundation.devices import NONE, card, is_gpu
from steeplechase.foundation.environment import processor
from steeplechase.foundation.errors import ConfigurationError, CorruptionError
from steeplechase.foundation.schema import JsonValue
from steeplechase.foundation.stand_ins import CodeNeeded
from steeplechase.ledger.amendments import amendments
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import LEDGER_NAME, EmptyLedger, Ledger
from steeplechase.ledger.records import ArmRow, Record, Status

MOST_MEASURED_FOLDERS = 40
"""Maximum number of stages per kind whose disk usage is measured, since walking thousands of folders is slow."""


@dataclass(frozen=True)
class Measured:
    """Measured costs of one stage. `operations` are FLOPs, 0 for stages without a model."""

    kind: str
    device: str
    operations: float
    seconds: float
    parameters: int
    """Parameters of its encoder; 0 without one."""
    bytes: int | None
    """Bytes on disk; None if the folder is gone or was not measured."""
    warm_up_seconds: float | None = None
    """Warm-up seconds of its process; None if not recorded, or if `seconds` are not those of the whole stage
    alone."""


def measured_under(root: Path, store: ArtifactStore) -> tuple[Measured, ...]:
    """Return the measured costs in the ledgers under a results root, for this processor.

    Raises CorruptionError if a ledger is damaged. Experiments that this version cannot read are skipped, and stages
    whose costs need the code of a plugin that is not loaded.
    """
    measured_folders: Counter[str] = Counter()
    found: list[Measured] = []
    for path in sorted({*root.glob(LEDGER_NAME), *root.glob(f"*/{LEDGER_NAME}")}):
        with suppress(EmptyLedger):  # of a run that was killed, or that has begun, a moment ago
            found += _measured_in(path, store, measured_folders)
    return tuple(found)


@dataclass(frozen=True)
class _Declared:
    """Declarations of an experiment's stages, by the labels of records."""

    experiment: Experiment
    fine_tuning_runs: dict[str, FineTuningRun]
    pretrain_labels: tuple[str, ...]

    @classmethod
    def of(cls, experiment: Experiment) -> "_Declared":
        by_label = {each.label: each for each in fine_tuning_runs(experiment.fine_tuning)}
        return cls(experiment, by_label, pretrain_labels(experiment))

    def settings(self, label: str) -> tuple[str, FineTuning] | None:
        """Return the task of a label and how it is taught; None for a label that the experiment does not have."""
        parsed, run = StageLabel.parse(label), self.fine_tuning_runs.get(label)
        if parsed.kind == UNTRAINED and parsed.task is not None:
            return parsed.task, settings_of(self.experiment.fine_tuning, parsed.task)
        return None if run is None else (run.task, run.settings)


def _measured_in(path: Path, store: ArtifactStore, measured_folders: Counter[str]) -> Iterator[Measured]:
    with closing(Ledger(path, read_only=True)) as ledger:
        manifest, latest = ledger.fact("manifest"), amendments(ledger)[-1:]
        document: JsonValue = {**latest[0].document} if latest else ledger.fact("document")
        if not isinstance(manifest, dict) or manifest.get("processor") != processor():
            return
        try:
            experiment, arms = Experiment.of_record(document), {arm.name: arm for arm in ledger.arms()}
        except (ValidationError, ConfigurationError, CodeNeeded):
            return
        finally:  # what the plugins of this ledger are known by is no option of the experiment that is planned
            forget_recorded_options()
        table = _Declared.of(experiment)
        tuning = table if experiment.tune is None else _Declared.of(tuning_view(experiment))
        gpu = manifest.get("gpu")
        same_card = (gpu.get("card") if isinstance(gpu, dict) else NONE) == card()
        if any(_refused(arm.candidate) for arm in arms.values()):
            return
        arm_of = {trial.name: arms[trial.arm] for trial in ledger.trials()}
        for record in ledger.records():
            if record.status is Status.FINISHED and not record.reused:
                arm = None if record.trial is None else arm_of[record.trial]
                declared = table if arm is None or arm.tuning_trial_of is None else tuning
                with suppress(ConfigurationError, CodeNeeded):  # of a plugin that is not loaded
                    measured = _measurement(record, arm, declared, store, measured_folders)
                    if same_card or not is_gpu(measured.device):
                        yield measured


def _refused(candidate: Candidate) -> bool:
    """Return whether its costs need a factory that this command may not call."""
    architecture = candidate.architecture
    return isinstance(architecture, ModuleArchitecture) and refusal(architecture.factory) is not None


def _measurement(
    record: Record, arm: ArmRow | None, declared: _Declared, store: ArtifactStore, measured_folders: Counter[str]
) -> Measured:
    measured_folders[record.stage] += 1
    folder = store.folder(record.stage, record.key)
    size, warm_up = None, None
    if measured_folders[record.stage] <= MOST_MEASURED_FOLDERS and folder.is_dir():
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        with suppress(CorruptionError):  # a damaged stage is an error elsewhere; here only its seconds are unknown
            outcome = store.outcome(record.stage, record.key)
            warm_up = None if outcome is None else outcome.warm_up_seconds
    candidate = declared.experiment.baseline if arm is None and record.stage in TASK_STAGES else None  # untrained
    candidate = arm.candidate if arm is not None else candidate
    if candidate is None:
        return Measured(record.stage, "cpu", 0.0, record.total_seconds, 0, size, warm_up)
    operations, device = _operations(record, candidate, declared), candidate.recipe.device
    parameters = candidate.architecture.parameters
    return Measured(record.stage, device, operations, record.total_seconds, parameters, size, warm_up)


def _operations(record: Record, candidate: Candidate, declared: _Declared) -> float:
    if record.stage in TASK_STAGES:
        settings = declared.settings(record.label)
        if settings is None:
            return 0.0
        task, tuning = settings
        return task_flops(tuning.find(task), candidate.architecture, tuning, tuning)
    if record.label not in declared.pretrain_labels:
        return 0.0
    experiment = declared.experiment
    marks = (0, *experiment.pretraining.stage_ends)
    index, baseline = declared.pretrain_labels.index(record.label), experiment.baseline.architecture
    start, end = (candidate.train_flops(tokens, baseline) if tokens else 0 for tokens in marks[index : index + 2])
    if record.label == declared.pretrain_labels[-1] and candidate.recipe.pruning is not None:
        updates = candidate.recipe.steps(marks[-1])
        return end / updates * candidate.recipe.pruning.updates(updates)
    return float(end - start)
