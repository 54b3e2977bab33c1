"""What trials have observed, as a sampler is told: losses at the marks, and the values of the search's objectives."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from configuration.designs.search import MEASURED
from configuration.experiment import Experiment
from configuration.stage_label import PRETRAIN, StageLabel, fine_tuning_cells
from foundation.schema import JsonValue
from ledger.records import ArmRow, final_loss_of
from ledger.selected_settings import chosen_records
from ledger.snapshot import TrialHistory
from runners.dag import fine_tune_labels, pretrain_labels
from runners.scoring import primary_score
from runners.search.optuna_sampler import Observation


def observed(
    experiment: Experiment, arm: ArmRow, histories: Sequence[TrialHistory], objectives: Sequence[str], proposed: bool
) -> Observation:
    """Return what trials of one arm observed together: means over their seeds, as far as all of them came."""
    per_seed = [_losses(history) for history in histories]
    reached = min(len(losses) for losses in per_seed)
    values = [_measured(experiment, arm, history) for history in histories]
    last = pretrain_labels(experiment)[-1]
    spent = all(any(record.label == last for record in history.finished(PRETRAIN)) for history in histories)
    complete = spent and all(name in measured for measured in values for name in objectives)
    return Observation(
        dict(arm.changes),
        tuple(fmean(losses[level] for losses in per_seed) for level in range(reached)),
        complete,
        tuple(fmean(measured[name] for measured in values) for name in objectives) if complete else (),
        proposed,
        len(histories),
    )


def at_the_same_seeds(
    seen: Observation, there: Observation, here: Observation, objectives: Sequence[str]
) -> Observation:
    """Return what a candidate would have observed at other seeds: what was measured moves as the baseline does.

    `there` is the baseline at the candidate's seeds, `here` at the others. What the baseline has not measured at both
    is left out, because a difference between seeds would pass for one between candidates.
    """
    moves = [new - old for old, new in zip(there.losses, here.losses, strict=False)]
    complete = seen.complete and there.complete and here.complete
    values = zip(objectives, seen.values, there.values, here.values, strict=True) if complete else ()
    return replace(
        seen,
        losses=tuple(loss + move for loss, move in zip(seen.losses, moves, strict=False)),
        complete=complete,
        objectives=tuple(value + (new - old if name in MEASURED else 0.0) for name, value, old, new in values),
    )


def _losses(history: TrialHistory) -> list[float]:
    found = map(final_loss_of, history.finished(PRETRAIN))
    return [loss for loss in found if loss is not None]


def _measured(experiment: Experiment, arm: ArmRow, history: TrialHistory) -> Mapping[str, float]:
    """Return a trial's value by every objective that it has one for."""
    losses, pretrained = _losses(history), history.finished(PRETRAIN)
    found: dict[str, float] = {
        "parameters": float(arm.parameters),
        "forward_flops": float(arm.forward_flops),
        "train_flops": float(arm.train_flops),
        "seconds": sum(record.seconds for record in pretrained),
    }
    if losses:
        found["held_out_loss"] = losses[-1]
    score = score_of(experiment, history)
    return found if score is None else {**found, "score": score}


def score_of(experiment: Experiment, history: TrialHistory) -> float | None:
    """Return the mean over tasks of the mean over fine-tuning seeds, None where a score is missing."""
    labels = fine_tune_labels(experiment)
    records = {StageLabel.parse(record.label).cell: record for record in chosen_records(history.records, labels)}
    scores: dict[str | None, list[float]] = {}
    for cell in fine_tuning_cells(labels):
        value = primary_score(records[cell]) if cell in records else None
        if value is None:
            return None
        scores.setdefault(cell.task, []).append(value)
    return fmean(fmean(of_task) for of_task in scores.values()) if scores else None


def as_json(seen: Observation) -> JsonValue:
    """Return what a ledger keeps of a candidate of another search."""
    return {
        "changes": {**seen.changes},
        "losses": [*seen.losses],
        "objectives": [*seen.objectives],
    }


def from_json(document: JsonValue) -> Observation:
    """Return a finished candidate of another search, as a ledger has kept it."""
    assert isinstance(document, dict)
    changes, losses, objectives = (document[name] for name in ("changes", "losses", "objectives"))
    assert isinstance(changes, dict)
    assert isinstance(losses, list)
    assert isinstance(objectives, list)
    return Observation(changes, _numbers(losses), True, _numbers(objectives), proposed=False)


def _numbers(values: list[JsonValue]) -> tuple[float, ...]:
    return tuple(float(value) for value in values if isinstance(value, int | float))
