"""What a study is told of a candidate that was stopped: values in the units and the direction of its objectives.

A study of one objective is told the values at the rungs: Optuna ranks stopped trials after finished ones, by the last
rung and then by the value there. A loss that stands in for a score that no probe has measured has its sign changed,
since the study maximises; it is never compared with a score. A study of several objectives cannot use stopped trials.
It is told what the candidate is expected to have at the end: the difference from the baseline at the candidate's last
rung is taken for that at the end. Hurdles never stop the baseline, so that it has every rung.
"""

from collections.abc import Iterable, Sequence

from runners.search.observations import Observation
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE

MAXIMISED = (SCORE,)
"""Objectives of which larger values are better."""


def values_at_rungs(objective: str, observation: Observation) -> tuple[float, ...]:
    """Return the values at the rungs that a study of one objective is told; NaN, the worst, of a diverged one."""
    if observation.diverged:
        return (float("nan"),)
    if objective != SCORE:
        return observation.losses
    return observation.scores or tuple(-loss for loss in observation.losses)


def expected_values(
    objectives: Sequence[str], observation: Observation, baseline: Observation | None, finished: Sequence[Observation]
) -> tuple[float, ...] | None:
    """Return the values that a stopped candidate is expected to have at the end; None where one has no estimate.

    An objective that no rung measures, and all of a candidate that diverged, is expected to be the worst of the
    finished candidates.
    """
    found = []
    for position, objective in enumerate(objectives):
        value = _measured(objective, position, observation, baseline)
        if value is None:
            value = _worst(objective, (each.values[position] for each in finished))
        if value is None:
            return None
        found.append(value)
    return tuple(found)


def _measured(objective: str, position: int, observation: Observation, baseline: Observation | None) -> float | None:
    known = observation.objectives[position] if observation.objectives else None
    if known is not None:
        return known
    at_rungs = _at_rungs(objective, observation)
    if not at_rungs:
        return None
    reference = () if baseline is None else _at_rungs(objective, baseline)
    if baseline is None or not baseline.complete or len(reference) < len(at_rungs):
        return at_rungs[-1]
    return baseline.values[position] + at_rungs[-1] - reference[len(at_rungs) - 1]


def _at_rungs(objective: str, observation: Observation) -> tuple[float, ...]:
    if observation.diverged:
        return ()
    return {HELD_OUT_LOSS: observation.losses, SCORE: observation.scores}.get(objective, ())


def _worst(objective: str, values: Iterable[float]) -> float | None:
    return min(values, default=None) if objective in MAXIMISED else max(values, default=None)
