"""Observations of trials for a sampler: losses at the rungs, and the values of the search's objectives."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from runners.search.observation import Observation
from runners.stage_labels import fine_tune_labels, pretrain_labels
from steeplechase.configuration.designs.search import MEASURED
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import PRETRAIN, StageLabel, fine_tuning_cells
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import ArmRow, final_loss_of, primary_score
from steeplechase.ledger.selected_settings import chosen_records
from steeplechase.ledger.snapshot import TrialHistory


def observation_of(
    experiment: Experiment, arm: ArmRow, histories: Sequence[TrialHistory], objectives: Sequence[str], proposed: bool
) -> Observation:
    """Return the observation of one arm: means over the seeds of its trials, up to the rung that all have reached."""
    per_seed = [_losses(history) for history in histories]
    reached = min(len(losses) for losses in per_seed)
    values = [_measured(experiment, arm, history) for history in histories]
    last = pretrain_labels(experiment)[-1]
    trained = all(any(record.label == last for record in history.finished(PRETRAIN)) for history in histories)
    complete = trained and all(name in measured for measured in values for name in objectives)
    return Observation(
        dict(arm.changes),
        tuple(fmean(losses[level] for losses in per_seed) for level in range(reached)),
        complete,
        tuple(fmean(measured[name] for measured in values) for name in objectives) if complete else (),
        proposed,
        len(histories),
    )


def shifted_by_baseline(
    observation: Observation, from_baseline: Observation, to_baseline: Observation, objectives: Sequence[str]
) -> Observation:
    """Return the expected observation at other seeds: measured values shift as the baseline's do.

    `from_baseline` is the baseline at the candidate's seeds, `to_baseline` at the other seeds. Values that the
    baseline lacks at either are dropped, since differences between seeds would bias those between candidates.
    """
    shifts = [new - old for old, new in zip(from_baseline.losses, to_baseline.losses, strict=False)]
    complete = observation.complete and from_baseline.complete and to_baseline.complete
    values = (
        zip(objectives, observation.values, from_baseline.values, to_baseline.values, strict=True) if complete else ()
    )
    return replace(
        observation,
        losses=tuple(loss + shift for loss, shift in zip(observation.losses, shifts, strict=False)),
        complete=complete,
        objectives=tuple(value + (new - old if name in MEASURED else 0.0) for name, value, old, new in values),
    )


def _losses(history: TrialHistory) -> list[float]:
    losses = map(final_loss_of, history.finished(PRETRAIN))
    return [loss for loss in losses if loss is not None]


def _measured(experiment: Experiment, arm: ArmRow, history: TrialHistory) -> Mapping[str, float]:
    """Return a trial's values by objective, as far as it has them."""
    losses, pretrained = _losses(history), history.finished(PRETRAIN)
    measured: dict[str, float] = {
        "parameters": float(arm.parameters),
        "forward_flops": float(arm.forward_flops),
        "train_flops": float(arm.train_flops),
        "seconds": sum(record.seconds for record in pretrained),
    }
    if losses:
        measured["held_out_loss"] = losses[-1]
    score = score_of(experiment, history)
    return measured if score is None else {**measured, "score": score}


def score_of(experiment: Experiment, history: TrialHistory) -> float | None:
    """Return the mean over tasks of the mean over fine-tuning seeds, None if a score is missing."""
    labels = fine_tune_labels(experiment)
    records = {StageLabel.parse(record.label).cell: record for record in chosen_records(history.records, labels)}
    scores: dict[str | None, list[float]] = {}
    for cell in fine_tuning_cells(labels):
        value = primary_score(records[cell]) if cell in records else None
        if value is None:
            return None
        scores.setdefault(cell.task, []).append(value)
    return fmean(fmean(task_scores) for task_scores in scores.values()) if scores else None


def as_json(observation: Observation) -> JsonValue:
    """Return an observation of another search, for the ledger."""
    return {
        "changes": {**observation.changes},
        "losses": [*observation.losses],
        "objectives": [*observation.objectives],
    }


def from_json(document: JsonValue) -> Observation:
    """Return the observation of a finished candidate of another search, from the ledger."""
    assert isinstance(document, dict)
    changes, losses, objectives = (document[name] for name in ("changes", "losses", "objectives"))
    assert isinstance(changes, dict)
    assert isinstance(losses, list)
    assert isinstance(objectives, list)
    return Observation(changes, _numbers(losses), True, _numbers(objectives), proposed=False)


def _numbers(values: list[JsonValue]) -> tuple[float, ...]:
    return tuple(float(value) for value in values if isinstance(value, int | float))
