"""Observations of trials for a sampler: losses at the rungs, and the values of the search's objectives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from runners.stage_labels import fine_tune_labels, pretrain_labels
from steeplechase.configuration.designs.search import MEASURED
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import PRETRAIN, PROBE, StageLabel
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import KnownArm, TrialStatus, final_loss_of, primary_score
from steeplechase.ledger.trial_history import TrialHistory, score_of


@dataclass(frozen=True)
class Observation:
    """A candidate as changes from the baseline, with what was measured of it at each rung that it reached."""

    changes: Mapping[str, JsonValue]
    losses: tuple[float, ...]
    """Held-out loss at each rung, and at the end."""
    complete: bool
    """Whether it was trained to the full budget."""
    objectives: tuple[float | None, ...] = ()
    """Values of the search's objectives, None of one that is not measured yet; if empty, the last loss is the only
    objective."""
    proposed: bool = True
    """Whether this search proposed it; False for the baseline and for observations of other searches."""
    seeds: int = 1
    """Number of trials of this observation."""
    scores: tuple[float, ...] = ()
    """Score of the hurdle's probe at each rung; empty without a probe."""
    diverged: bool = False
    """Whether a trial of it diverged, so that no value at a rung speaks for it."""

    @property
    def values(self) -> tuple[float, ...]:
        """The objectives in their order, of a complete observation."""
        return tuple(value for value in self.objectives if value is not None) or self.losses[-1:]


class Observer:
    """Makes observations of the arms of a search by the objectives in effect.

    The score is the mean over `scored_tasks`; a probe of another task of the experiment speaks for no score.
    """

    def __init__(self, experiment: Experiment, objectives: Sequence[str], scored_tasks: Sequence[str]) -> None:
        self._objectives = objectives
        labels = fine_tune_labels(experiment)
        self._labels = tuple(each for each in labels if StageLabel.parse(each).task in scored_tasks)
        probe = experiment.pretraining.hurdle.rung_probe
        tasks = experiment.fine_tuning.tasks
        self._probed = probe is not None and (probe.task in scored_tasks or probe.task not in tasks)
        self._last = pretrain_labels(experiment)[-1]

    def observation(self, arm: KnownArm, histories: Sequence[TrialHistory], proposed: bool) -> Observation:
        """Return the observation of one arm: means over the seeds of its trials, up to the rung all have reached."""
        objectives = self._objectives
        values = [_measured(self._labels, arm, history) for history in histories]
        trained = all(
            any(record.label == self._last for record in history.finished(PRETRAIN)) for history in histories
        )
        complete = trained and all(name in measured for measured in values for name in objectives)
        known = complete or any(name not in MEASURED for name in objectives)
        return Observation(
            dict(arm.changes),
            _means([_losses(history) for history in histories]),
            complete,
            tuple(_mean(name, values, complete) for name in objectives) if known else (),
            proposed,
            len(histories),
            _means([_scores(history) for history in histories]) if self._probed else (),
            any(history.status is TrialStatus.DIVERGED for history in histories),
        )


def _means(per_seed: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the means over seeds at each rung, up to the last one that all have reached."""
    reached = min(map(len, per_seed))
    return tuple(fmean(values[level] for values in per_seed) for level in range(reached))


def _mean(objective: str, values: Sequence[Mapping[str, float]], complete: bool) -> float | None:
    """Return an objective's mean over seeds; None of one that an incomplete candidate has no final value of."""
    at_end = objective in MEASURED or objective == "seconds"
    return None if at_end and not complete else fmean(measured[objective] for measured in values)


def shifted_by_baseline(
    observation: Observation, from_baseline: Observation, to_baseline: Observation, objectives: Sequence[str]
) -> Observation:
    """Return the expected observation at other seeds: measured values shift as the baseline's do.

    `from_baseline` is the baseline at the candidate's seeds, `to_baseline` at the other seeds. Values that the
    baseline lacks at either are dropped, since differences between seeds would bias those between candidates.
    """
    complete = observation.complete and from_baseline.complete and to_baseline.complete
    values = (
        zip(objectives, observation.values, from_baseline.values, to_baseline.values, strict=True) if complete else ()
    )
    return replace(
        observation,
        losses=_shifted(observation.losses, from_baseline.losses, to_baseline.losses),
        scores=_shifted(observation.scores, from_baseline.scores, to_baseline.scores),
        complete=complete,
        objectives=tuple(value + (new - old if name in MEASURED else 0.0) for name, value, old, new in values)
        if complete
        else tuple(
            None if name in MEASURED else value
            for name, value in zip(objectives, observation.objectives, strict=False)
        ),
    )


def _shifted(values: Sequence[float], old: Sequence[float], new: Sequence[float]) -> tuple[float, ...]:
    return tuple(value + to - since for value, since, to in zip(values, old, new, strict=False))


def _losses(history: TrialHistory) -> list[float]:
    losses = map(final_loss_of, history.finished(PRETRAIN))
    return [loss for loss in losses if loss is not None]


def _scores(history: TrialHistory) -> list[float]:
    """Return the score of the hurdle's probe at each rung; empty without a probe."""
    scores = map(primary_score, history.finished(PROBE))
    return [score for score in scores if score is not None]


def _measured(labels: tuple[str, ...], arm: KnownArm, history: TrialHistory) -> Mapping[str, float]:
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
    score = score_of(history.records, labels)
    return measured if score is None else {**measured, "score": score}
