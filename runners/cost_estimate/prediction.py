"""Predicts the duration and disk usage of stages from earlier measurements on this machine.

A stage is predicted from the measured stages of its kind that are nearest in size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from statistics import median, quantiles

from runners.cost_estimate.flops import effort
from runners.cost_estimate.past_runs import Measured
from runners.stages.declarations import (
    AttentionStage,
    FineTuneStage,
    LinearProbeStage,
    MinimalPairsStage,
    PretrainStage,
)
from runners.stages.stage import Stage

NEAREST = 30
FEWEST_FOR_RANGE = 5

ON_ENCODER = FineTuneStage | LinearProbeStage | AttentionStage
"""What reads a pretrained encoder without its head."""


@dataclass(frozen=True)
class Range:
    """A predicted amount; low and high enclose 80% of the measurements, None if there are too few."""

    middle: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Prediction:
    """Predicted costs of stages. Kinds without measurements are listed and excluded from the sums."""

    seconds: Range | None
    """Sequential duration, to be divided by the workers. None without measurements."""
    bytes: Range | None
    measured: int
    """Number of measured stages used."""
    never_measured: tuple[str, ...]
    start_seconds: float | None = None
    """Warm-up of each worker before its first stage, not part of `seconds`; None if unknown."""


def predicted(stages: Iterable[Stage], known: Iterable[Measured]) -> Prediction:
    """Return the predicted costs of the stages to compute."""
    by_kind: dict[tuple[str, str], list[Measured]] = {}
    for one in known:
        by_kind.setdefault((one.kind, one.device), []).append(one)
    by_kind = {place: surely_timed(of_kind) for place, of_kind in by_kind.items()}
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
    starts = [one.warm_up_seconds for place in used for one in by_kind[place] if one.warm_up_seconds is not None]
    start = median(starts) if starts else None
    return Prediction(_total(seconds), _total(weights), count, tuple(sorted(missing)), start)


def surely_timed(known: Sequence[Measured]) -> list[Measured]:
    """Return the measurements known to exclude warm-up, or all if there are none."""
    return [one for one in known if one.warm_up_seconds is not None] or [*known]


def _cost(known: list[Measured], operations: float, parameters: int) -> tuple[Range, Range | None]:
    """Return the seconds and bytes of a stage, from the measurements nearest in size."""
    near = sorted(known, key=lambda one: _distance(one.operations, operations))[:NEAREST]
    weighed = [(float(one.bytes), float(one.parameters)) for one in near if one.bytes is not None]
    time = _scaled([(one.seconds, one.operations) for one in near], operations)
    return time, _scaled(weighed, float(parameters)) if weighed else None


def _scaled(pairs: list[tuple[float, float]], size: float) -> Range:
    """Return amounts scaled to a size; unscaled without a size."""
    amounts = [amount * size / of if size and of else amount for amount, of in pairs]
    if len(amounts) < FEWEST_FOR_RANGE:
        return Range(median(amounts), None, None)
    deciles = quantiles(amounts, n=10, method="inclusive")
    return Range(median(amounts), deciles[0], deciles[-1])


def _total(parts: list[Range]) -> Range | None:
    """Return the sum; the bounds are summed too, since the speed of the machine affects all stages alike."""
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
    declaration = stage.declaration
    if isinstance(declaration, PretrainStage | MinimalPairsStage):
        return declaration.candidate.recipe.device
    return declaration.device if isinstance(declaration, ON_ENCODER) else "cpu"


def _parameters(stage: Stage) -> int:
    declaration = stage.declaration
    if isinstance(declaration, PretrainStage | MinimalPairsStage):
        return declaration.candidate.architecture.parameters
    return declaration.architecture.parameters if isinstance(declaration, ON_ENCODER) else 0
