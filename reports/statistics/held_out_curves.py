"""The recorded evaluations of every seed: held-out loss in nats by tokens seen."""

from collections.abc import Mapping

from reports.statistics.results import Results
from reports.statistics.rung_losses import with_other_loss
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.ledger.records import TrialStatus, curve_of
from steeplechase.ledger.trial_history import TrialHistory

HeldOutCurve = Mapping[int, float]
ENDED = (TrialStatus.FINISHED, TrialStatus.STOPPED, TrialStatus.DIVERGED)


def curve_of_trial(trial: TrialHistory) -> HeldOutCurve:
    """Return the evaluations of a trial's finished stages of pretraining."""
    points: dict[int, float] = {}
    for record in trial.finished(PRETRAIN):
        points |= curve_of(record)
    return points


def furthest_curves(results: Results, arm: str) -> tuple[HeldOutCurve, ...]:
    """Return the curves of an arm's seeds with the most tokens seen; none if its loss is not comparable."""
    if arm in results.once(with_other_loss):
        return ()
    curves = [curve_of_trial(trial) for trial in results.trials[arm] if trial.status is not TrialStatus.DIVERGED]
    furthest = max((max(points) for points in curves if points), default=0)
    return tuple(points for points in curves if points and max(points) == furthest)


def ended_trials(results: Results, arm: str) -> tuple[TrialHistory, ...]:
    """Return an arm's trials that finished, were stopped or diverged; none if its loss is not comparable."""
    if arm in results.once(with_other_loss):
        return ()
    return tuple(trial for trial in results.trials.get(arm, ()) if trial.status in ENDED)
