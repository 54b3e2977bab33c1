"""Learning curves of trials: held-out loss in nats by tokens seen."""

from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.ledger.records import TrialStatus, curve_of
from steeplechase.ledger.snapshot import TrialHistory


def longest_curves(trials: tuple[TrialHistory, ...]) -> tuple[dict[int, float], ...]:
    """Return the learning curves of the seeds with the most tokens seen."""
    curves = [_curve(trial) for trial in trials if trial.status is not TrialStatus.DIVERGED]
    curves = [points for points in curves if points]
    furthest = max((max(points) for points in curves), default=0)
    return tuple(points for points in curves if max(points) == furthest)


def _curve(trial: TrialHistory) -> dict[int, float]:
    points: dict[int, float] = {}
    for record in trial.finished(PRETRAIN):
        points |= curve_of(record)
    return points
