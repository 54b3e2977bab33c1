"""Prediction: how long stages will take and how much disk they need, from what this machine has measured before.

Every ledger under a results root that was made on this processor lends its records: seconds, and the operations that
they stand for in closed form. A stage is predicted from the measured ones of its kind that are nearest in size.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import median, quantiles

from pydantic import ValidationError

from runners.asked.experiment import Experiment
from runners.asked.teaching import teachings
from runners.driving.effort import effort, examples_expected, fine_tuning_effort
from runners.driving.itinerary import pretrain_labels
from runners.kept.ledger import LEDGER_NAME, Ledger
from runners.kept.manifest import processor
from runners.kept.records import ArmRow, Record, Status
from runners.kept.store import StageStore
from runners.stages.declarations import AttentionStage, FineTuneStage, PretrainStage
from runners.stages.stage import Stage
from runners.tuning.view import tuning_view
from search_space.candidate import Candidate
from search_space.declaration import canonical_text
from tasks.downstream import find_task

NEAREST = 30
FEWEST_FOR_RANGE = 5
WEIGHED_AT_MOST = 40
"""Stages of a kind whose folders are weighed: walking thousands would cost more than the answer is worth."""


@dataclass(frozen=True)
class Measured:
    """What one stage took here. `operations` is 0 where its work is not arithmetic."""

    kind: str
    device: str
    operations: float
    seconds: float
    parameters: int
    """Of the encoder that it is about; 0 where it is about none."""
    bytes: int | None
    """On disk; None where the folder is gone or was not weighed."""


@dataclass(frozen=True)
class Range:
    """A predicted amount; low and high hold 80% of what was measured, and are None where too few were."""

    middle: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Prediction:
    """What stages will cost. A kind that was never measured is named and not part of the sums."""

    seconds: Range | None
    """One stage at a time; workers divide it. None where nothing of the kind was ever measured here."""
    bytes: Range | None
    measured: int
    """Stages that the prediction rests on."""
    never_measured: tuple[str, ...]


def measured_under(root: Path, store: StageStore) -> tuple[Measured, ...]:
    """Return what the ledgers under a results root have measured on this processor.

    Raises Corruption where a ledger cannot be trusted. One whose experiment this version cannot read lends nothing.
    """
    weighed: dict[str, int] = {}
    ledgers = sorted({*root.glob(LEDGER_NAME), *root.glob(f"*/{LEDGER_NAME}")})
    return tuple(found for path in ledgers for found in _measured_in(path, store, weighed))


def predicted(stages: Iterable[Stage], known: Iterable[Measured]) -> Prediction:
    """Return what stages that are still to be computed will take."""
    by_kind: dict[tuple[str, str], list[Measured]] = {}
    for one in known:
        by_kind.setdefault((one.kind, one.device), []).append(one)
    seconds: list[Range] = []
    weights: list[Range] = []
    missing: set[str] = set()
    used: set[tuple[str, str]] = set()
    costs: dict[tuple[str, str, float, int], tuple[Range, Range | None]] = {}
    for stage in stages:
        place = (stage.kind, _device(stage))
        if place not in by_kind:
            missing.add(stage.kind)
            continue
        used.add(place)
        size = (*place, effort(stage), _parameters(stage))
        if size not in costs:
            costs[size] = _cost(by_kind[place], *size[2:])
        time, weight = costs[size]
        seconds.append(time)
        weights += [weight] if weight is not None else []
    count = sum(len(by_kind[place]) for place in used)
    return Prediction(_total(seconds), _total(weights), count, tuple(sorted(missing)))


def _measured_in(path: Path, store: StageStore, weighed: dict[str, int]) -> Iterator[Measured]:
    with closing(Ledger(path)) as ledger:
        made_on, document = ledger.fact("manifest"), ledger.fact("document")
        if not isinstance(made_on, dict) or made_on.get("processor") != processor():
            return
        try:
            experiment = Experiment.model_validate_json(canonical_text(document))
        except ValidationError:
            return
        view = tuning_view(experiment) if experiment.tune is not None else experiment
        arms = {arm.name: arm for arm in ledger.arms()}
        arm_of = {trial.name: arms[trial.arm] for trial in ledger.trials()}
        for record in ledger.records():
            if record.status is Status.FINISHED and not record.reused:
                arm = None if record.trial is None else arm_of[record.trial]
                asked = experiment if arm is None or arm.tunes is None else view
                yield _measurement(record, arm, asked, store, weighed)


def _measurement(
    record: Record, arm: ArmRow | None, experiment: Experiment, store: StageStore, weighed: dict[str, int]
) -> Measured:
    weighed[record.stage] = weighed.get(record.stage, 0) + 1
    folder = store.folder(record.stage, record.key)
    size = _weight(folder) if weighed[record.stage] <= WEIGHED_AT_MOST and folder.is_dir() else None
    if arm is None:
        return Measured(record.stage, "cpu", 0.0, record.seconds, 0, size)
    candidate = Candidate.model_validate_json(canonical_text(dict(arm.candidate)))
    operations = _operations(record, candidate, experiment)
    return Measured(record.stage, candidate.recipe.device, operations, record.seconds, arm.parameters, size)


def _operations(record: Record, candidate: Candidate, experiment: Experiment) -> float:
    if record.stage == "fine_tune":
        by_label = {each.label: each for each in teachings(experiment.fine_tuning)}
        teaching = by_label.get(record.label)
        if teaching is None:
            return 0.0
        tuning, task = teaching.settings, find_task(teaching.task)
        train, dev = examples_expected(teaching.task, tuning.train_examples, tuning.dev_examples)
        counts = (2 * train if tuning.swap_pairs and task.unordered else train, dev)
        return fine_tuning_effort(candidate.architecture, tuning.sequence_length, tuning.epochs, *counts)
    labels = pretrain_labels(experiment)
    marks = (0, *experiment.pretraining.hurdle.token_marks, experiment.pretraining.tokens)
    if record.label not in labels:
        return 0.0
    at, baseline = labels.index(record.label), experiment.baseline.architecture
    until, since = (candidate.train_flops(marks[end], baseline) if marks[end] else 0 for end in (at + 1, at))
    return float(until - since)


def _cost(known: list[Measured], operations: float, parameters: int) -> tuple[Range, Range | None]:
    """Return the seconds and the bytes of a stage by those that are nearest in size."""
    near = sorted(known, key=lambda one: _distance(one.operations, operations))[:NEAREST]
    weighed = [(float(one.bytes), float(one.parameters)) for one in near if one.bytes is not None]
    time = _scaled([(one.seconds, one.operations) for one in near], operations)
    return time, _scaled(weighed, float(parameters)) if weighed else None


def _scaled(pairs: list[tuple[float, float]], size: float) -> Range:
    """Return amounts scaled from the sizes that they were measured at; as they are where there is no size."""
    amounts = [amount * size / of if size and of else amount for amount, of in pairs]
    if len(amounts) < FEWEST_FOR_RANGE:
        return Range(median(amounts), None, None)
    deciles = quantiles(amounts, n=10, method="inclusive")
    return Range(median(amounts), deciles[0], deciles[-1])


def _total(parts: list[Range]) -> Range | None:
    """Return the sum; the ends add up too, because what is slow today is slow for all stages alike."""
    if not parts:
        return None
    middle = sum(part.middle for part in parts)
    if all(part.low is None for part in parts):
        return Range(middle, None, None)
    low = sum(part.middle if part.low is None else part.low for part in parts)
    return Range(middle, low, sum(part.middle if part.high is None else part.high for part in parts))


def _distance(one: float, other: float) -> float:
    return abs(log(max(one, 1.0)) - log(max(other, 1.0)))


def _device(stage: Stage) -> str:
    told = stage.declaration
    if isinstance(told, PretrainStage):
        return told.candidate.recipe.device
    return told.device if isinstance(told, FineTuneStage | AttentionStage) else "cpu"


def _parameters(stage: Stage) -> int:
    told = stage.declaration
    if isinstance(told, PretrainStage):
        return told.candidate.architecture.parameters
    return told.architecture.parameters if isinstance(told, FineTuneStage | AttentionStage) else 0


def _weight(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
